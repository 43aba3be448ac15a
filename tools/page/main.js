// The page: its state, what changes it, and drawing once a frame.

class Page {
  constructor(report) {
    this.report = report;
    this.state = { cross: null, stay: -1, moment: null };
    this.colourings = colouringsOf(report);
    this.colouring = this.colourings.find(({ label }) => label === report.facts.colour);
    this.view = new View(report.facts.moments, report.facts.span_bytes, () => this.moved());
    this.map = new BlockMap(document.getElementById('map'), report, this.view);
    this.curves = new Curves(document.getElementById('curves'), report, this.view);
    this.frame_ms = 0;
    this.fill();
    this.listen();
    this.pick(this.firstMoment());
    this.redraw();
  }

  fill() {
    for (const element of document.querySelectorAll('[data-timed]'))
      element.hidden = this.report.facts.kind === 'state';
    showSummary(this.report);
    showFailure(this.report, () => this.showFailure());
    showHappened(this.report, moment => this.goTo(moment));
    showOptions(this.report.facts);
    showStatistics(this.report.facts);
    showLegends(this.colouring, this.report);
    const choices = this.colourings.map(({ label }) => make('option', label));
    put('colour-by', ...choices);
    document.getElementById('colour-by').value = this.colouring.label;
  }

  // The first refusal; else where most is live.
  firstMoment() {
    const { refusals, samples } = this.report;
    let at = 0;
    for (let i = 1; i < samples.count; i++)
      at = samples.live[i] > samples.live[at] ? i : at;
    return refusals.count > 0 ? refusals.moment[0] : at;
  }

  // ---- Drawing ----

  moved() {
    if (this.map)
      this.map.stale = true;
    this.redraw();
  }

  redraw() {
    if (this.waiting)
      return;
    this.waiting = true;
    requestAnimationFrame(() => this.draw());
  }

  // Where frames take long, those while something moves have a quarter of the pixels.
  draw() {
    const begin = performance.now(), painted = this.map.stale;
    this.waiting = false;
    this.map.draw(this.colouring, this.state);
    if (this.report.facts.kind !== 'state')
      this.curves.draw(this.state);
    if (!painted)
      return;
    this.frame_ms = performance.now() - begin;
    this.map.coarse = this.frame_ms > (this.map.coarse ? 8 : 25);
    clearTimeout(this.sharpen);
    if (this.map.coarse)
      this.sharpen = setTimeout(() => this.drawSharp(), 150);
  }

  drawSharp() {
    this.map.coarse = false;
    this.map.stale = true;
    this.map.draw(this.colouring, this.state);
    this.map.coarse = true;
  }

  // ---- The state ----

  hover(place) {
    const { view } = this, inside = place && place.x >= 0 && place.x < 1 && place.y > 0 && place.y < 1;
    if (!inside) {
      this.setCross(null);
      return;
    }
    this.setCross({
      moment: Math.floor(view.time.from + (view.time.to - view.time.from) * place.x),
      offset: view.place.from + (view.place.to - view.place.from) * place.y,
    });
  }

  setCross(cross) {
    const { state, report } = this;
    state.cross = cross && { ...cross, moment: Math.min(report.facts.moments - 1, cross.moment) };
    state.stay = cross ? report.index.find(state.cross.moment, cross.offset) : -1;
    this.tell();
    this.redraw();
  }

  text() {
    const { cross, stay } = this.state;
    return stay >= 0 ? describe(this.report, stay, cross.moment) : describePlace(this.report, cross.moment, cross.offset);
  }

  tell() {
    const tip = document.getElementById('tip'), { cross } = this.state;
    tip.hidden = cross === null;
    if (cross === null)
      return;
    const { sheet } = this.map, x = sheet.x(this.view, cross.moment), y = this.map.y(cross.offset);
    tip.textContent = this.text();
    tip.style.left = Math.max(0, Math.min(x + 14, sheet.width - tip.offsetWidth - 2)) + 'px';
    tip.style.top = (y + 14 + tip.offsetHeight > sheet.height ? Math.max(0, y - tip.offsetHeight - 14) : y + 14) + 'px';
  }

  pick(moment) {
    this.state.moment = Math.max(0, Math.min(this.report.facts.moments - 1, Math.floor(moment)));
    showMoment(this.report, this.state.moment);
    this.redraw();
  }

  goTo(moment) {
    const { from, to } = this.view.place;
    this.view.show(moment, from, to);
    this.view.set('place', from, to - from);
    this.pick(moment);
  }

  showFailure() {
    const { failure, kind } = this.report.facts;
    if (this.report.refusals.count === 0 || kind === 'state')
      return;
    const moment = this.report.refusals.moment[0];
    if (failure.found)
      this.view.show(moment, failure.offset, failure.offset + failure.room);
    else
      this.goTo(moment);
    this.pick(moment);
    document.getElementById('map').focus();
  }

  colourBy(colouring) {
    this.colouring = colouring;
    document.getElementById('colour-by').value = colouring.label;
    showLegends(colouring, this.report);
    this.moved();
  }

  nextColouring() {
    const at = this.colourings.indexOf(this.colouring);
    this.colourBy(this.colourings[(at + 1) % this.colourings.length]);
  }

  // ---- Listening ----

  listen() {
    for (const { canvas } of [this.map.sheet, this.curves.sheet]) {
      const isMap = canvas.id === 'map';
      listenToWheel(canvas, this.view);
      new Pointers(canvas, this.view, place => this.hover(isMap ? place : null), place => this.pickAt(place));
      canvas.addEventListener('keydown', event => this.press(event));
    }
    document.addEventListener('keydown', event => this.pressAnywhere(event));
    new ResizeObserver(() => this.moved()).observe(document.getElementById('map'));
    this.listenToControls();
  }

  listenToControls() {
    for (const button of document.querySelectorAll('[data-do]'))
      button.addEventListener('click', () => this.act(button.dataset.do));
    document.getElementById('colour-by').addEventListener('change', event =>
      this.colourBy(this.colourings[event.target.selectedIndex]));
    document.getElementById('show-keys').addEventListener('click', () => this.act('help'));
    const theme = document.getElementById('theme'), system = matchMedia('(prefers-color-scheme: dark)');
    const set = () => {
      const dark = theme.value === 'dark' || theme.value === '' && system.matches;
      document.documentElement.classList.toggle('dark', dark);
      showLegends(this.colouring, this.report);
      this.moved();
    };
    theme.addEventListener('change', set);
    system.addEventListener('change', set);
    set();
  }

  pickAt(place) {
    if (place.x >= 0 && place.x < 1)
      this.pick(this.view.time.from + (this.view.time.to - this.view.time.from) * place.x);
  }

  act(name) {
    const { view, state } = this, at = state.cross ? this.crossPlace() : { x: 0.5, y: 0.5 };
    const acts = {
      'zoom-in': () => view.zoom('time', 1.5, at.x),
      'zoom-out': () => view.zoom('time', 1 / 1.5, at.x),
      higher: () => view.zoom('place', 1.5, at.y),
      lower: () => view.zoom('place', 1 / 1.5, at.y),
      reset: () => view.reset(),
      left: () => view.pan('time', -0.1),
      right: () => view.pan('time', 0.1),
      up: () => view.pan('place', 0.1),
      down: () => view.pan('place', -0.1),
      before: () => this.pick(state.moment - 1),
      after: () => this.pick(state.moment + 1),
      failure: () => this.showFailure(),
      colour: () => this.nextColouring(),
      help: () => document.getElementById('keys').showModal(),
      pick: () => state.cross && this.pick(state.cross.moment),
    };
    acts[name]();
  }

  crossPlace() {
    const { time, place } = this.view, { cross } = this.state;
    return {
      x: (cross.moment - time.from) / (time.to - time.from),
      y: (cross.offset - place.from) / (place.to - place.from),
    };
  }

  press(event) {
    const act = Page.KEYS[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey || !act)
      return;
    event.preventDefault();
    if (event.shiftKey && Page.STEPS[event.key])
      this.moveCross(...Page.STEPS[event.key]);
    else
      this.act(act);
  }

  pressAnywhere(event) {
    const act = Page.KEYS_ANYWHERE[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey || !act || event.target.closest('select, input, dialog'))
      return;
    this.act(act);
  }

  // By parts of what is seen; told also to those who do not see it.
  moveCross(x, y) {
    const place = this.state.cross ? this.crossPlace() : { x: 0.5, y: 0.5 };
    const keep = part => Math.min(0.999, Math.max(0.001, part));
    this.hover({ x: keep(place.x + x), y: keep(place.y + y) });
    put('told', this.text());
  }
}

Page.KEYS = {
  ArrowLeft: 'left', ArrowRight: 'right', ArrowUp: 'up', ArrowDown: 'down',
  '+': 'zoom-in', '=': 'zoom-in', '-': 'zoom-out', ']': 'higher', '[': 'lower', 0: 'reset', Enter: 'pick',
  ',': 'before', '.': 'after',
};
Page.KEYS_ANYWHERE = { f: 'failure', c: 'colour', '?': 'help' };
Page.STEPS = { ArrowLeft: [-0.01, 0], ArrowRight: [0.01, 0], ArrowUp: [0, 0.02], ArrowDown: [0, -0.02] };

readReport().then(report => {
  window.cuarena = new Page(report); // for scripts that look at a report
}).catch(error => {
  document.getElementById('summary').textContent =
    'This page could not be drawn: ' + error.message + '. It takes a browser of 2023 or newer.';
  throw error;
});
