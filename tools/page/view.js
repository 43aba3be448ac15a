// A view: the moments and offsets that are seen, and what changes them.

class View {
  constructor(moments, bytes, changed) {
    this.most = { time: Math.max(1, moments), place: bytes };
    this.changed = changed;
    this.reset();
  }

  reset() {
    this.time = { from: 0, to: this.most.time };
    this.place = { from: 0, to: this.most.place };
    this.changed();
  }

  // Keeps an axis inside what there is, and no narrower than `least`.
  set(axis, from, length) {
    const most = this.most[axis], least = axis === 'time' ? Math.min(4, most) : Math.min(64, most);
    length = Math.min(most, Math.max(least, length));
    from = Math.min(most - length, Math.max(0, from));
    this[axis] = { from, to: from + length };
    this.changed();
  }

  // `at` is what stays where it is: 0 the beginning of the axis, 1 its end.
  zoom(axis, factor, at) {
    const { from, to } = this[axis], length = (to - from) / factor;
    this.set(axis, from + (to - from - length) * at, length);
  }

  // By a part of what is seen.
  pan(axis, part) {
    const { from, to } = this[axis];
    this.set(axis, from + (to - from) * part, to - from);
  }

  // Goes to where something is, with some of what is around it.
  show(moment, from, to) {
    const time = Math.max(40, Math.min(this.most.time / 20, 4000));
    this.set('time', moment - time * 0.75, time);
    this.set('place', from - (to - from), 3 * (to - from));
  }
}

// Room around what is drawn, in CSS pixels: labels are there.
const MARGIN = { left: 78, right: 12, top: 10, bottom: 26 };

// Where a pointer is in a canvas: 0 to 1 from the left, and from the bottom.
function placeIn(canvas, event) {
  const box = canvas.getBoundingClientRect();
  const width = box.width - MARGIN.left - MARGIN.right;
  const height = box.height - MARGIN.top - MARGIN.bottom;
  return {
    x: (event.clientX - box.left - MARGIN.left) / width,
    y: 1 - (event.clientY - box.top - MARGIN.top) / height,
  };
}

function listenToWheel(canvas, view) {
  canvas.addEventListener('wheel', event => {
    event.preventDefault();
    const place = placeIn(canvas, event);
    const factor = Math.exp(-(event.deltaY || event.deltaX) * (event.deltaMode ? 0.05 : 0.0015));
    if (event.shiftKey && canvas.id === 'map')
      view.zoom('place', factor, place.y);
    else
      view.zoom('time', factor, place.x);
  }, { passive: false });
}

// One pointer drags, two pinch; one that comes and goes without a move clicks.
class Pointers {
  constructor(canvas, view, hover, click) {
    Object.assign(this, { canvas, view, hover, click, down: new Map(), moved: false });
    canvas.addEventListener('pointerdown', event => this.press(event));
    canvas.addEventListener('pointermove', event => this.move(event));
    canvas.addEventListener('pointerup', event => this.lift(event));
    canvas.addEventListener('pointercancel', event => this.down.delete(event.pointerId));
    canvas.addEventListener('pointerleave', () => hover(null));
    canvas.addEventListener('dblclick', () => view.reset());
  }

  press(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.down.set(event.pointerId, placeIn(this.canvas, event));
    this.start = { x: event.clientX, y: event.clientY };
    this.moved = this.down.size > 1;
  }

  move(event) {
    const place = placeIn(this.canvas, event), before = this.down.get(event.pointerId);
    if (!before) {
      this.hover(place);
      return;
    }
    const way = Math.hypot(event.clientX - this.start.x, event.clientY - this.start.y);
    this.moved = this.moved || way > 4;
    if (!this.moved)
      return;
    if (this.down.size === 1)
      this.drag(before, place);
    else
      this.pinch(event.pointerId, before, place);
    this.down.set(event.pointerId, place);
  }

  drag(before, place) {
    this.hover(null);
    this.view.pan('time', before.x - place.x);
    if (this.canvas.id === 'map')
      this.view.pan('place', before.y - place.y);
  }

  pinch(id, before, place) {
    const [other] = [...this.down].filter(([key]) => key !== id).map(([, value]) => value);
    const old = Math.abs(before.x - other.x), now = Math.abs(place.x - other.x);
    if (old > 0.02 && now > 0.02)
      this.view.zoom('time', now / old, (place.x + other.x) / 2);
  }

  lift(event) {
    this.down.delete(event.pointerId);
    if (!this.moved)
      this.click(placeIn(this.canvas, event));
  }
}
