// Data: the tables of the report, and which stays are there at a moment.

function inflate(text) {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++)
    bytes[i] = binary.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Response(stream).arrayBuffer();
}

// Numbers above 2^53 lose their last digits.
function readNumber(reader) {
  let byte = reader.bytes[reader.at++];
  let number = byte & 127;
  for (let scale = 128; byte >= 128; scale *= 128) {
    byte = reader.bytes[reader.at++];
    number += (byte & 127) * scale;
  }
  return number;
}

function readColumn(reader, rows, steps) {
  const column = new Float64Array(rows);
  let last = 0;
  for (let i = 0; i < rows; i++) {
    const number = readNumber(reader);
    if (steps)
      last += number % 2 === 1 ? -(number + 1) / 2 : number / 2;
    else
      last = number;
    column[i] = last;
  }
  return column;
}

function readTables(bytes, list) {
  const reader = { bytes, at: 0 };
  const tables = {};
  for (const table of list) {
    const columns = { count: table.rows };
    for (const column of table.columns)
      columns[column.name] = readColumn(reader, table.rows, column.steps);
    tables[table.name] = columns;
  }
  return tables;
}

// Sizes in bytes, and moments, in place of what was packed.
function unpackStays(stays, unit) {
  stays.end = stays.life.map((life, i) => stays.begin[i] + life);
  stays.taken = stays.slack.map((slack, i) => stays.bytes[i] + slack);
  for (let i = 0; i < stays.count; i++)
    stays.offset[i] *= unit;
}

async function readReport() {
  const facts = JSON.parse(document.getElementById('facts').textContent);
  const element = document.getElementById('columns');
  const bytes = new Uint8Array(await inflate(element.textContent));
  const tables = readTables(bytes, facts.tables);
  element.textContent = '';
  unpackStays(tables.stays, facts.unit_bytes);
  const born = bornOf(tables.stays);
  return { facts, ...tables, born, index: new Index(tables.stays, facts.moments) };
}

// When the block of each stay was allocated: its first stay began then.
function bornOf(stays) {
  const first = new Map();
  return stays.begin.map((begin, i) => {
    const block = stays.block[i];
    if (!first.has(block))
      first.set(block, begin);
    return first.get(block);
  });
}

// The number of elements of a sorted column that are below `bound`.
function countBelow(column, bound) {
  let low = 0, high = column.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (column[middle] < bound)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Moments are cut into equal stretches. For each, the stays that began before it and are there at
// its beginning are listed, so that what is there at a moment is found by looking at few others.
class Index {
  static MOST_LISTED = 4e6;

  constructor(stays, moments) {
    const lived = stays.life.reduce((sum, life) => sum + life, 0);
    const each = lived / moments || 1;
    this.stays = stays;
    this.count = Math.max(1, Math.min(2048, moments, Math.floor(Index.MOST_LISTED / each)));
    this.length = moments / this.count;
    this.list();
  }

  firstStretch(i) { return Math.floor(this.stays.begin[i] / this.length) + 1; }

  lastStretch(i) { return Math.min(this.count, Math.ceil(this.stays.end[i] / this.length)) - 1; }

  list() {
    const from = new Uint32Array(this.count + 1);
    for (let i = 0; i < this.stays.count; i++)
      for (let k = this.firstStretch(i); k <= this.lastStretch(i); k++)
        from[k + 1]++;
    for (let k = 0; k < this.count; k++)
      from[k + 1] += from[k];
    const next = from.slice();
    this.listed = new Uint32Array(from[this.count]);
    for (let i = 0; i < this.stays.count; i++)
      for (let k = this.firstStretch(i); k <= this.lastStretch(i); k++)
        this.listed[next[k]++] = i;
    this.from = from;
  }

  // Calls visit(number) for each stay that is there at some moment in [from, to).
  visit(from, to, visit) {
    const { begin, end } = this.stays;
    const k = Math.max(0, Math.min(this.count - 1, Math.floor(from / this.length)));
    for (let at = this.from[k]; at < this.from[k + 1]; at++)
      if (end[this.listed[at]] > from)
        visit(this.listed[at]);
    const first = countBelow(begin, k * this.length);
    for (let i = first; i < begin.length && begin[i] < to; i++)
      if (end[i] > from)
        visit(i);
  }

  // The stays of one moment, a whole number.
  at(moment) {
    const found = [];
    this.visit(moment, moment + 0.5, i => found.push(i));
    return found;
  }

  // The stay that has the byte at `offset`, or -1.
  find(moment, offset) {
    const { offset: begin, taken } = this.stays;
    let found = -1;
    this.visit(moment, moment + 0.5, i => {
      if (begin[i] <= offset && offset < begin[i] + taken[i])
        found = i;
    });
    return found;
  }
}

// The free ranges of a moment, by address: what lies between the blocks of each band.
function freeRanges(report, moment) {
  const { offset, taken } = report.stays;
  const stays = report.index.at(moment).sort((a, b) => offset[a] - offset[b]);
  const ranges = [];
  let next = 0, begin = 0;
  for (const band of report.facts.bands) {
    const end = begin + band.bytes;
    let free = begin, below = -1;
    for (; next < stays.length && offset[stays[next]] < end; next++) {
      const stay = stays[next];
      if (offset[stay] > free)
        ranges.push({ begin: free, bytes: offset[stay] - free, below, above: stay });
      free = offset[stay] + taken[stay];
      below = stay;
    }
    if (free < end)
      ranges.push({ begin: free, bytes: end - free, below, above: -1 });
    begin = end;
  }
  return ranges;
}

// A recording may have no line of what was taken from the memory.
function knowsReserved({ samples }) {
  return samples.reserved.some(bytes => bytes > 0);
}

// The address of an offset, as text.
function addressOf(report, offset) {
  for (const band of report.facts.bands) {
    if (offset < band.bytes)
      return '0x' + (BigInt(band.address) + BigInt(Math.floor(offset))).toString(16);
    offset -= band.bytes;
  }
  return '-';
}
