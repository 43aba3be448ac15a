// The curves: what was reserved, live and free in one piece, and how much of what was free was not
// in one piece.

// The least and most of stretches of 64 samples, so that a pixel of many looks at few.
class Extremes {
  static STRETCH = 64;

  constructor(column) {
    const count = Math.ceil(column.length / Extremes.STRETCH);
    this.column = column;
    this.least = new Float64Array(count).fill(Infinity);
    this.most = new Float64Array(count).fill(-Infinity);
    for (let i = 0; i < column.length; i++) {
      const k = Math.floor(i / Extremes.STRETCH);
      this.least[k] = Math.min(this.least[k], column[i]);
      this.most[k] = Math.max(this.most[k], column[i]);
    }
  }

  // Of samples [from, to); at least one.
  of(from, to) {
    const { column, least, most } = this, stretch = Extremes.STRETCH;
    let low = Infinity, high = -Infinity;
    for (let i = from; i < to;) {
      const k = i / stretch, whole = Number.isInteger(k) && i + stretch <= to;
      low = Math.min(low, whole ? least[k] : column[i]);
      high = Math.max(high, whole ? most[k] : column[i]);
      i += whole ? stretch : 1;
    }
    return [low, high];
  }
}

function fragmentationOf(samples) {
  return samples.free.map((free, i) => free > 0 ? Math.max(0, 1 - samples.largest[i] / free) : 0);
}

class Curves {
  static STRIP = 34; // of fragmentation, CSS pixels
  static LARGEST = '#e69f00';
  static FRAGMENTATION = '#cc79a7';

  constructor(canvas, report, view) {
    const { samples } = report;
    Object.assign(this, { report, view, sheet: new Sheet(canvas), knowsReserved: knowsReserved(report) });
    this.reserved = new Extremes(samples.reserved);
    this.live = new Extremes(samples.live);
    this.largest = new Extremes(samples.largest);
    this.fragmentation = new Extremes(fragmentationOf(samples));
    this.highest = Math.max(1, this.reserved.of(0, samples.count)[1], this.live.of(0, samples.count)[1]);
  }

  // For each pixel of the width its least and most, as [low, high].
  pixels(extremes) {
    const { area } = this.sheet, { from, to } = this.view.time, count = this.report.samples.count;
    const list = [];
    for (let x = 0; x < Math.ceil(area.width); x++) {
      const begin = Math.floor(from + (to - from) * x / area.width);
      const end = Math.ceil(from + (to - from) * (x + 1) / area.width);
      const first = Math.min(count - 1, begin);
      list.push(extremes.of(first, Math.min(count, Math.max(first + 1, end))));
    }
    return list;
  }

  fill(pixels, y, bottom, colour) {
    const { context, area } = this.sheet;
    context.fillStyle = colour;
    pixels.forEach(([, high], x) => context.fillRect(area.left + x, y(high), 1, bottom - y(high)));
  }

  stroke(pixels, y, colour) {
    const { context, area } = this.sheet;
    context.strokeStyle = colour;
    context.lineWidth = 1.5;
    context.beginPath();
    pixels.forEach(([low, high], x) => {
      context.lineTo(area.left + x + 0.5, y(low));
      context.lineTo(area.left + x + 0.5, y(high));
    });
    context.stroke();
    context.lineWidth = 1;
  }

  draw(state) {
    const { sheet } = this;
    sheet.begin();
    const { area } = sheet, bottom = area.top + area.height, known = this.report.facts.kind !== 'recorded';
    const base = known ? bottom - Curves.STRIP - 8 : bottom;
    const y = bytes => base - bytes / this.highest * (base - area.top - 4);
    this.fill(this.pixels(this.live), y, base, styleOf('--accent'));
    if (known)
      this.stroke(this.pixels(this.largest), y, Curves.LARGEST);
    if (this.knowsReserved)
      this.stroke(this.pixels(this.reserved), y, styleOf('--ink'));
    for (const bytes of roundSteps(0, this.highest, 4, 2).slice(1))
      sheet.label(formatBytes(bytes), y(bytes));
    if (known)
      this.strip(bottom);
    this.lines(state);
    sheet.frame(this.view, true);
  }

  strip(bottom) {
    const { sheet } = this, { area } = sheet;
    const y = part => bottom - part * Curves.STRIP;
    this.fill(this.pixels(this.fragmentation), y, bottom, Curves.FRAGMENTATION);
    sheet.line(area.left, y(1), area.left + area.width, y(1), styleOf('--line'));
    sheet.label('100 %', y(1));
    sheet.label('fragm.', y(0.4));
  }

  lines({ cross, moment }) {
    const { sheet, view } = this, { area } = sheet, { refusals } = this.report;
    const vertical = (at, colour, dash) => {
      if (at >= view.time.from && at <= view.time.to)
        sheet.line(sheet.x(view, at), area.top, sheet.x(view, at), area.top + area.height, colour, dash);
    };
    if (refusals.count > 0)
      vertical(refusals.moment[0], styleOf('--bad'));
    if (moment !== null)
      vertical(moment, styleOf('--ink'), [4, 3]);
    if (cross !== null)
      vertical(cross.moment, styleOf('--soft'));
  }
}
