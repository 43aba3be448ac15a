// The map: addresses over moments, each pixel in the colours of the blocks that it is of.

// Colours that those who see few of them tell apart (Okabe and Ito), and a scale of one direction.
const GROUP_COLOURS = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#f0e442'];
const SCALE_COLOURS = ['#5a3f9c', '#3f63a8', '#2a8296', '#22a087', '#52b966', '#9cc93f', '#d9c71f'];
const OTHERS = '#9aa0a6';

function rgbOf(hex) {
  return [1, 3, 5].map(at => parseInt(hex.slice(at, at + 2), 16));
}

// Ways to colour: each gives a stay the number of a colour, and names the colours in the legend.
function groupColouring(label, column, names) {
  return {
    label,
    colours: [...GROUP_COLOURS, OTHERS],
    number: i => Math.min(column[i], GROUP_COLOURS.length),
    names: [...names.slice(0, GROUP_COLOURS.length), ...names.slice(GROUP_COLOURS.length, 8).map(() => 'others')],
  };
}

// Powers of two that part what is drawn into pieces of about the same area.
function scaleBounds(column, stays) {
  const areas = new Float64Array(64);
  for (let i = 0; i < column.length; i++)
    areas[Math.floor(Math.log2(Math.max(1, column[i])))] += stays.taken[i] * stays.life[i];
  const all = areas.reduce((sum, area) => sum + area, 0), bounds = [];
  for (let power = 0, sum = 0; power < 64; power++) {
    if (sum < all && sum >= all * (bounds.length + 1) / (SCALE_COLOURS.length + 1))
      bounds.push(Math.pow(2, power));
    sum += areas[power];
  }
  return bounds.slice(0, SCALE_COLOURS.length - 1);
}

function scaleColouring(label, column, stays, format) {
  const bounds = scaleBounds(column, stays), last = SCALE_COLOURS.length - 1;
  const colours = [...bounds, 0].map((_, k) => SCALE_COLOURS[Math.round(k * last / Math.max(1, bounds.length))]);
  const below = bounds.length > 0 ? 'below ' + format(bounds[0]) : 'any';
  return {
    label,
    colours,
    number: i => countBelow(bounds, column[i] + 0.5),
    names: [below, ...bounds.map(bound => 'from ' + format(bound))],
  };
}

function colouringsOf(report) {
  const { stays, facts } = report;
  const tags = facts.tags.map(tag => tag.allocs > 0 ? tag.name ?? 'no tag' : '');
  let streams = 0;
  for (const stream of stays.stream)
    streams = Math.max(streams, stream + 1);
  const list = [
    groupColouring('tag', stays.tag, tags),
    scaleColouring('size', stays.bytes, stays, formatBytes),
    groupColouring('stream', stays.stream, Array.from({ length: streams }, (_, i) => 'stream ' + streamName(report, i))),
    scaleColouring('lifetime', stays.life, stays, life => formatCount(life) + ' events'),
  ];
  for (const colouring of list)
    colouring.of = Uint8Array.from(stays.begin, (_, i) => colouring.number(i));
  return list;
}

// How much of each pixel is covered is counted, and how much of it in each colour. A row holds what
// a pixel has more than the one to its left, so that a block costs its height and not its area.
class Raster {
  resize(width, height) {
    if (this.width === width && this.height === height)
      return;
    this.width = width;
    this.height = height;
    this.stride = (width + 2) * 4;
    this.steps = new Float32Array(this.stride * height);
    this.image = new ImageData(width, height);
    this.image.data.fill(255);
  }

  draw(report, view, colouring, back) {
    const { begin, end, offset, taken } = report.stays;
    const colours = colouring.colours.map(rgbOf);
    const perMoment = this.width / (view.time.to - view.time.from);
    const perByte = this.height / (view.place.to - view.place.from);
    this.steps.fill(0);
    report.index.visit(view.time.from, view.time.to, i => {
      const low = (view.place.to - offset[i]) * perByte;
      this.add((begin[i] - view.time.from) * perMoment, (end[i] - view.time.from) * perMoment,
        low - taken[i] * perByte, low, colours[colouring.of[i]]);
    });
    this.blend(rgbOf(back));
  }

  // A rectangle from its left to its right and its top to its bottom; a large one leaves a seam.
  add(left, right, top, bottom, colour) {
    if (right - left > 5)
      right -= 1;
    if (bottom - top > 5)
      top += 1;
    left = Math.max(0, left);
    right = Math.min(this.width, right);
    top = Math.max(0, top);
    bottom = Math.min(this.height, bottom);
    if (right > left && bottom > top)
      this.cover(left, right, top, bottom, colour);
  }

  cover(left, right, top, bottom, [red, green, blue]) {
    const begin = Math.floor(left), end = Math.floor(right);
    const skipped = left - begin, reached = right - end;
    for (let y = Math.floor(top); y < bottom; y++) {
      const part = Math.min(bottom, y + 1) - Math.max(top, y), row = y * this.stride;
      this.step(row + begin * 4, part * (1 - skipped), red, green, blue);
      this.step(row + begin * 4 + 4, part * skipped, red, green, blue);
      this.step(row + end * 4, part * (reached - 1), red, green, blue);
      this.step(row + end * 4 + 4, -part * reached, red, green, blue);
    }
  }

  step(at, part, red, green, blue) {
    const { steps } = this;
    steps[at] += part * red;
    steps[at + 1] += part * green;
    steps[at + 2] += part * blue;
    steps[at + 3] += part;
  }

  blend(back) {
    for (let y = 0; y < this.height; y++)
      this.blendRow(y, back);
  }

  // What covers little is drawn somewhat stronger than it is, so that it is seen. What is stored is
  // rounded, and kept between 0 and 255.
  blendRow(y, [backRed, backGreen, backBlue]) {
    const { steps, image: { data }, width } = this;
    let red = 0, green = 0, blue = 0, part = 0;
    for (let x = 0, at = y * this.stride, to = y * width * 4; x < width; x++, at += 4, to += 4) {
      red += steps[at];
      green += steps[at + 1];
      blue += steps[at + 2];
      part += steps[at + 3];
      const much = part < 1 ? part : 1, shown = part < 1 / 512 ? 0 : much * (2 - much);
      const scale = shown > 0 ? shown / part : 0, left = 1 - shown;
      data[to] = red * scale + backRed * left;
      data[to + 1] = green * scale + backGreen * left;
      data[to + 2] = blue * scale + backBlue * left;
    }
  }
}

// Numbers with few digits, at most `most` of them, inside [from, to].
function roundSteps(from, to, most, base) {
  const rough = (to - from) / most;
  const power = Math.pow(base, Math.floor(Math.log(rough) / Math.log(base)));
  const factors = base === 2 ? [1, 2] : [1, 2, 5, 10];
  const step = Math.max(1, power * factors.find(factor => power * factor >= rough));
  const steps = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step)
    steps.push(at);
  return steps;
}

function styleOf(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// A canvas whose pixels are those of the screen; `area` is the drawing without its margins.
class Sheet {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d');
  }

  begin() {
    const { canvas, context } = this, scale = Math.min(2, window.devicePixelRatio || 1);
    this.width = canvas.clientWidth;
    this.height = canvas.clientHeight;
    if (canvas.width !== Math.round(this.width * scale))
      canvas.width = Math.round(this.width * scale);
    if (canvas.height !== Math.round(this.height * scale))
      canvas.height = Math.round(this.height * scale);
    this.scale = scale;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.font = '11px system-ui, "DejaVu Sans", sans-serif';
    this.area = {
      left: MARGIN.left, top: MARGIN.top,
      width: Math.max(8, this.width - MARGIN.left - MARGIN.right),
      height: Math.max(8, this.height - MARGIN.top - MARGIN.bottom),
    };
  }

  x(view, moment) {
    return this.area.left + (moment - view.time.from) / (view.time.to - view.time.from) * this.area.width;
  }

  line(x0, y0, x1, y1, colour, dash = []) {
    const { context } = this;
    context.strokeStyle = colour;
    context.setLineDash(dash);
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
    context.stroke();
    context.setLineDash([]);
  }

  // A frame, and the labels of moments below it.
  frame(view, timed) {
    const { context, area } = this;
    context.strokeStyle = styleOf('--line');
    context.lineWidth = 1;
    context.strokeRect(area.left - 0.5, area.top - 0.5, area.width + 1, area.height + 1);
    if (!timed)
      return;
    context.fillStyle = styleOf('--soft');
    context.textAlign = 'center';
    context.textBaseline = 'top';
    for (const moment of roundSteps(view.time.from, view.time.to, area.width / 90, 10)) {
      const x = this.x(view, moment);
      this.line(x, area.top + area.height, x, area.top + area.height + 4, styleOf('--line'));
      context.fillText(formatCount(moment), x, area.top + area.height + 7);
    }
  }

  label(text, y) {
    this.context.textAlign = 'right';
    this.context.textBaseline = 'middle';
    this.context.fillStyle = styleOf('--soft');
    this.context.fillText(text, this.area.left - 6, y);
  }
}

class BlockMap {
  constructor(canvas, report, view) {
    Object.assign(this, { report, view, sheet: new Sheet(canvas), raster: new Raster() });
    this.picture = document.createElement('canvas');
    this.stale = true;
    this.coarse = false;
  }

  y(offset) {
    const { area } = this.sheet, { from, to } = this.view.place;
    return area.top + (to - offset) / (to - from) * area.height;
  }

  // The blocks, again only if the view or the colours changed.
  paint(colouring) {
    const { area, scale } = this.sheet, fine = this.coarse ? scale / 2 : scale;
    const width = Math.round(area.width * fine), height = Math.round(area.height * fine);
    if (!this.stale && width === this.picture.width && height === this.picture.height)
      return;
    this.raster.resize(width, height);
    this.raster.draw(this.report, this.view, colouring, styleOf('--back'));
    this.picture.width = width;
    this.picture.height = height;
    this.picture.getContext('2d').putImageData(this.raster.image, 0, 0);
    this.stale = false;
  }

  draw(colouring, state) {
    const { sheet } = this;
    sheet.begin();
    this.paint(colouring);
    const { area, context } = sheet;
    context.imageSmoothingEnabled = this.coarse;
    context.drawImage(this.picture, area.left, area.top, area.width, area.height);
    this.addresses();
    context.save();
    context.beginPath();
    context.rect(area.left, area.top, area.width, area.height);
    context.clip();
    this.marks(state);
    context.restore();
    sheet.frame(this.view, this.report.facts.kind !== 'state');
  }

  addresses() {
    const { sheet, view } = this, { area } = sheet;
    for (const offset of roundSteps(view.place.from, view.place.to, area.height / 40, 2))
      sheet.label(formatBytes(offset), this.y(offset));
    this.joints();
  }

  // Where addresses are left out, unless that is in too many places to see.
  joints() {
    const { sheet, view } = this, { area } = sheet;
    let end = 0;
    const ends = this.report.facts.bands.slice(0, -1).map(band => end += band.bytes)
      .filter(at => at > view.place.from && at < view.place.to);
    for (const at of ends.length < 40 ? ends : [])
      sheet.line(area.left, this.y(at), area.left + area.width, this.y(at), styleOf('--soft'), [2, 3]);
  }

  marks(state) {
    const timed = this.report.facts.kind !== 'state';
    if (timed) {
      this.slides();
      this.refusals();
    }
    this.cross(state);
    if (timed && state.moment !== null)
      this.vertical(state.moment, styleOf('--ink'), [4, 3]);
    if (state.stay >= 0)
      this.outline(state.stay);
  }

  vertical(moment, colour, dash = []) {
    const { sheet, view } = this, x = sheet.x(view, moment);
    sheet.line(x, sheet.area.top, x, sheet.area.top + sheet.area.height, colour, dash);
  }

  // A triangle at the top, or from below at the bottom: one for each pixel at most.
  triangles(moments, colour, top) {
    const { context, area } = this.sheet, y = top ? area.top : area.top + area.height;
    const tip = top ? 9 : -9;
    let last = -Infinity;
    context.fillStyle = colour;
    for (let i = countBelow(moments, this.view.time.from); i < moments.length; i++) {
      const x = this.sheet.x(this.view, moments[i]);
      if (x > area.left + area.width)
        break;
      if (x < last + 2)
        continue;
      last = x;
      context.beginPath();
      context.moveTo(x - 5, y);
      context.lineTo(x + 5, y);
      context.lineTo(x, y + tip);
      context.fill();
    }
  }

  slides() {
    this.triangles(this.report.slides.moment, styleOf('--accent'), false);
  }

  // The first refusal, and the place that the request would have had.
  refusals() {
    const { refusals, facts } = this.report, { context } = this.sheet;
    if (refusals.count === 0)
      return;
    const moment = refusals.moment[0], bad = styleOf('--bad');
    this.triangles(refusals.moment, bad, true);
    this.vertical(moment, bad);
    if (!facts.failure.found)
      return;
    const x = this.sheet.x(this.view, moment), top = this.y(facts.failure.offset + facts.failure.room);
    context.strokeStyle = bad;
    context.lineWidth = 2;
    context.strokeRect(x - 14, top, 28, Math.max(3, this.y(facts.failure.offset) - top));
    context.lineWidth = 1;
  }

  cross({ cross }) {
    if (cross === null)
      return;
    const { area } = this.sheet, y = this.y(cross.offset), soft = styleOf('--soft');
    this.vertical(cross.moment, soft);
    this.sheet.line(area.left, y, area.left + area.width, y, soft);
  }

  // All stays of the block, joined.
  outline(stay) {
    const { report, sheet, view } = this, { stays } = report, { context } = sheet;
    context.strokeStyle = styleOf('--ink');
    context.lineWidth = 2;
    report.index.visit(view.time.from, view.time.to, i => {
      if (stays.block[i] !== stays.block[stay])
        return;
      const left = Math.max(-9, sheet.x(view, stays.begin[i])), top = this.y(stays.offset[i] + stays.taken[i]);
      const right = Math.min(sheet.width + 9, sheet.x(view, stays.end[i]));
      context.strokeRect(left, top, Math.max(2, right - left), Math.max(2, this.y(stays.offset[i]) - top));
    });
    context.lineWidth = 1;
  }
}
