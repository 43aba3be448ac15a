// Panels: what is told in words and tables.

function formatCount(number) {
  return number.toLocaleString('en-US', { maximumFractionDigits: 2 });
}

function formatBytes(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  for (; Math.abs(bytes) >= 1024 && unit < 4; unit++)
    bytes /= 1024;
  const digits = unit === 0 || Number.isInteger(bytes) || bytes >= 1000 ? 0 : bytes >= 100 ? 1 : 2;
  return bytes.toFixed(digits) + ' ' + units[unit];
}

function countOf(number, noun) {
  return formatCount(number) + ' ' + noun + (number === 1 ? '' : 's');
}

// Events are counted from 1, as in what the library says; moment 0 is before the first.
function eventOf(moment) {
  return formatCount(moment + 1);
}

function formatPart(part) {
  return (100 * part).toFixed(1) + ' %';
}

// An element with text, which is never read as HTML, or with other elements.
function make(name, content, className) {
  const element = document.createElement(name);
  if (className)
    element.className = className;
  element.append(...[content].flat());
  return element;
}

// Rows of texts; a heading that begins with '#' is of numbers, one that is '|' of bars from 0 to 1,
// and one that begins with '@' of addresses.
function table(headings, rows, none) {
  if (rows.length === 0)
    return make('p', none);
  const kinds = headings.map(heading => ({ '#': 'number', '|': 'bar', '@': 'address' })[heading[0]] ?? '');
  const head = make('tr', headings.map((heading, k) => {
    const cell = make('th', kinds[k] ? heading.slice(1) : heading, kinds[k]);
    cell.scope = 'col';
    return cell;
  }));
  const body = rows.map(row => make('tr', row.map((cell, k) => {
    return kinds[k] === 'bar' ? make('td', bar(cell), 'bar') : make('td', cell, kinds[k]);
  })));
  return make('table', [make('thead', head), make('tbody', body)]);
}

function bar(part) {
  const element = make('i', '');
  element.style.width = (100 * part).toFixed(1) + '%';
  return element;
}

function put(id, ...content) {
  document.getElementById(id).replaceChildren(...content);
}

// ---- Blocks ----------------------------------------------------------------

function tagOf(report, stay) {
  return report.facts.tags[report.stays.tag[stay]].name ?? 'none';
}

// Told only where there are tags.
function withTag(report, stay) {
  return report.facts.tags.length > 1 ? ', tag ' + tagOf(report, stay) : '';
}

// A snapshot has names; the blocks of traces are numbered as they are allocated.
function nameOf(report, stay) {
  const number = report.stays.block[stay];
  return report.facts.names[number] ?? '' + number;
}

// Those of a replay have numbers, others are called as they were.
function streamName({ facts }, stream) {
  return facts.streams.length > 0 ? facts.streams[stream] || 'none' : '' + stream;
}

// Nothing for a state, which has one moment.
function ageOf(report, stay, moment) {
  return report.facts.kind === 'state' ? '' : ', age ' + formatCount(moment - report.born[stay]);
}

function formatTime(ns) {
  const units = [['s', 1e9], ['ms', 1e6], ['µs', 1e3], ['ns', 1]];
  const [name, one] = units.find(([, size]) => Math.abs(ns) >= size) ?? ['ns', 1];
  return Number((ns / one).toPrecision(4)) + ' ' + name;
}

// How much time lies between two moments, in parentheses, where there was a clock.
function timeBetween({ samples, facts }, from, to) {
  const last = facts.moments - 1, ns = samples.time[Math.min(last, to)] - samples.time[Math.min(last, from)];
  return samples.time[last] > 0 ? ' (' + formatTime(ns) + ')' : '';
}

// How long a block lives, and how much of that is over at a moment.
function lifeOf(report, stay, moment) {
  const { stays, born, facts } = report, age = moment - born[stay];
  const lives = stays.end[stay] >= facts.moments ? 'to the end' : 'until event ' + eventOf(stays.end[stay]);
  return countOf(age, 'event') + timeBetween(report, born[stay], moment) + ', ' + lives;
}

function describe(report, stay, moment) {
  const { stays } = report, bytes = stays.bytes[stay], taken = stays.taken[stay];
  return [
    'block ' + nameOf(report, stay) + ', ' + formatBytes(bytes) +
      (bytes >= 1024 ? ' (' + formatCount(bytes) + ' B)' : ''),
    taken === bytes ? '' : 'takes ' + formatBytes(taken) + ' (' + formatCount(taken) + ' B)',
    'tag ' + tagOf(report, stay) + ', stream ' + streamName(report, stays.stream[stay]),
    report.facts.kind === 'state' ? '' : 'age ' + lifeOf(report, stay, moment),
    'at ' + addressOf(report, stays.offset[stay]) + ' (+' + formatBytes(stays.offset[stay]) + ')',
    stays.line[stay] > 0 ? 'line ' + stays.line[stay] + ' of the trace' : '',
  ].filter(line => line !== '').join('\n');
}

function describePlace(report, moment, offset) {
  if (report.facts.kind === 'state')
    return 'free, or not reserved, at ' + addressOf(report, offset);
  const sample = Math.min(report.samples.count - 1, moment);
  return 'free, at ' + addressOf(report, offset) + '\nafter event ' + eventOf(moment) + ': live ' +
    formatBytes(report.samples.live[sample]);
}

// The largest blocks of a moment, or those that are given.
function blockTable(report, list, moment) {
  const { stays, facts } = report, timed = facts.kind !== 'state';
  const headings = ['#block', '#bytes', 'tag', '#stream', ...(timed ? ['age', '#line'] : [])];
  const rows = list.map(stay => [
    nameOf(report, stay), formatBytes(stays.bytes[stay]), tagOf(report, stay), streamName(report, stays.stream[stay]),
    ...(timed ? [lifeOf(report, stay, moment), '' + stays.line[stay]] : []),
  ]);
  return table(headings, rows, 'No block is there.');
}

// ---- A moment ----------------------------------------------------------------

function showSizes(ranges) {
  const classes = new Map();
  for (const { bytes } of ranges) {
    const power = Math.floor(Math.log2(bytes)), entry = classes.get(power) ?? { count: 0, bytes: 0 };
    classes.set(power, { count: entry.count + 1, bytes: entry.bytes + bytes });
  }
  const most = Math.max(...[...classes.values()].map(entry => entry.bytes));
  const rows = [...classes].sort(([a], [b]) => b - a).map(([power, entry]) =>
    ['from ' + formatBytes(Math.pow(2, power)), formatCount(entry.count), formatBytes(entry.bytes), entry.bytes / most]);
  put('free-sizes', table(['size', '#ranges', '#bytes', '|'], rows, 'Nothing is free.'));
}

function neighbour(report, stay, moment) {
  if (stay < 0)
    return 'the end';
  return nameOf(report, stay) + ', ' + formatBytes(report.stays.bytes[stay]) + withTag(report, stay) +
    ageOf(report, stay, moment);
}

function showLargest(report, ranges, moment) {
  const rows = [...ranges].sort((a, b) => b.bytes - a.bytes).slice(0, 6).map(range =>
    [formatBytes(range.bytes), addressOf(report, range.begin),
      neighbour(report, range.below, moment), neighbour(report, range.above, moment)]);
  put('free-largest', table(['#bytes', '@at', 'block below', 'block above'], rows, 'Nothing is free.'));
}

function showBlocks(report, stays, moment) {
  const { taken } = report.stays;
  put('blocks-largest', blockTable(report, stays.sort((a, b) => taken[b] - taken[a]).slice(0, 8), moment));
}

// Recordings do not tell what was free in one piece, and some not what was reserved.
function freeText(report, i) {
  const { samples, facts } = report;
  const free = samples.free[i], largest = samples.largest[i];
  const words = ['reserved ' + formatBytes(samples.reserved[i]), 'free ' + formatBytes(free)];
  if (facts.kind === 'recorded')
    return knowsReserved(report) ? words : [];
  return [...words, 'largest ' + formatBytes(largest),
    'fragmentation ' + formatPart(free > 0 ? Math.max(0, 1 - largest / free) : 0)];
}

function showMoment(report, moment) {
  const { samples, facts } = report, i = Math.min(samples.count - 1, moment);
  const ranges = freeRanges(report, moment), stays = report.index.at(moment);
  put('moment-title', facts.kind === 'state' ? 'At that moment' : 'After event ' + eventOf(moment) + timeBetween(report, 0, moment));
  put('moment-text', [
    countOf(stays.length, 'block'), 'live ' + formatBytes(samples.live[i]), ...freeText(report, i),
  ].join(' · ') + (facts.pool || facts.kind === 'state' ? '' : '. Below, what lies between blocks counts as free, be it reserved or not.'));
  showSizes(ranges);
  showLargest(report, ranges, moment);
  showTags(report, stays);
  showBlocks(report, stays, moment);
}

// ---- Tables of the whole -------------------------------------------------------

function showTags(report, alive) {
  const { facts, stays } = report, now = facts.tags.map(() => ({ count: 0, bytes: 0 }));
  for (const stay of alive) {
    now[stays.tag[stay]].count++;
    now[stays.tag[stay]].bytes += stays.taken[stay];
  }
  const order = facts.tags.map((_, k) => k).filter(k => facts.tags[k].allocs > 0)
    .sort((a, b) => facts.tags[b].peak_bytes - facts.tags[a].peak_bytes);
  const rows = order.map(k => {
    const tag = facts.tags[k];
    return [tag.name ?? 'no tag', formatCount(tag.allocs), formatBytes(tag.peak_bytes),
      formatCount(now[k].count), formatBytes(now[k].bytes), formatCount(tag.end_blocks)];
  });
  const headings = ['tag', '#allocations', '#peak', '#blocks then', '#bytes then', '#left at the end'];
  put('tags', table(headings, rows, 'No block was allocated.'));
}

function showOptions({ options }) {
  const rows = kept => options.filter(kept).map(option => {
    const key = make('span', option.key);
    key.title = option.help ?? '';
    return [key, option.value];
  });
  put('options', table(['option', 'value'], rows(option => !option.usual), 'None is known.'));
  put('defaults', table(['option', 'value'], rows(option => option.usual), 'None.'));
}

function showStatistics({ statistics }) {
  const rows = statistics.filter(pair => pair.value !== '0').map(({ key, value }) =>
    [key, formatCount(Number(value)), key.endsWith('bytes') ? formatBytes(Number(value)) : '']);
  put('statistics', table(['figure', '#value', '#'], rows, 'None.'));
}

// Refusals and compactions, in their order, those beyond the first 40 counted.
function showHappened(report, go) {
  const { refusals, slides } = report, list = [];
  for (let i = 0; i < Math.min(40, refusals.count); i++)
    list.push([refusals.moment[i], 'refused ' + formatBytes(refusals.asked[i]) + '; free ' +
      formatBytes(refusals.free[i]) + ', largest ' + formatBytes(refusals.largest[i])]);
  for (let i = 0; i < Math.min(40, slides.count); i++)
    list.push([slides.moment[i], 'moved ' + countOf(slides.moves[i], 'block') + ', ' + formatBytes(slides.bytes[i])]);
  const rows = list.sort((a, b) => a[0] - b[0]).slice(0, 40).map(([moment, text]) => {
    const button = make('button', eventOf(moment));
    button.addEventListener('click', () => go(moment));
    return [button, text];
  });
  const more = refusals.count + slides.count - rows.length;
  put('happened', table(['#event', 'what'], rows, 'No request was refused, and no block moved.'),
    ...(more > 0 ? [make('p', 'and ' + formatCount(more) + ' more')] : []));
}

function wayText({ kind }, { found, blocks, bytes, room }, asked) {
  if (!found && kind !== 'replayed')
    return '';
  if (!found)
    return 'It is more than all of the bytes that the arena has for it.';
  if (blocks === 0)
    return 'A free range of ' + formatBytes(room) + ' was there, so not the bytes stood in its way.';
  return 'In its way stood at least ' + (blocks === 1 ? 'one block' : formatCount(blocks) + ' blocks') + ' of ' +
    formatBytes(bytes) + ': without ' + (blocks === 1 ? 'it' : 'them') + ' ' + formatBytes(room) +
    ' would lie together, for the ' + formatBytes(asked) + ' that were asked for. The map has the place in a frame.';
}

function showFailure(report, go) {
  const { failure } = report.facts, { refusals } = report;
  if (failure === null || refusals.count === 0)
    return;
  const moment = refusals.moment[0];
  document.getElementById('failure').hidden = false;
  document.getElementById('failure-go').hidden = report.facts.kind === 'state';
  put('failure-title', report.facts.kind === 'state' ? 'The last request that was refused' : refusals.count === 1 ? 'A request was refused' : formatCount(refusals.count) + ' requests were refused');
  put('failure-text', failure.text);
  put('failure-way', wayText(report.facts, failure, refusals.asked[0]));
  if (failure.found)
    put('failure-blocks', blockTable(report, failure.stays.slice(0, 12), moment));
  document.getElementById('failure-go').addEventListener('click', go);
}

function showSummary(report) {
  const { facts, samples } = report;
  const highest = column => column.reduce((high, value) => Math.max(high, value), 0);
  const most = facts.kind === 'state' ? ' ' : ' at most ';
  document.title = facts.title + ', cuarena report';
  put('title', facts.title);
  if (facts.kind === 'state')
    put('map-title', 'Addresses');
  if (!knowsReserved(report))
    put('curves-title', 'Live bytes');
  put('summary', [
    ...kindText(facts), 'live' + most + formatBytes(highest(samples.live)),
    ...(knowsReserved(report) ? ['reserved' + most + formatBytes(highest(samples.reserved))] : []),
    ...(facts.kind === 'state' ? [] : happenedText(report)), 'libcuarena ' + facts.made_by,
  ].join(' · '));
}

function happenedText({ refusals, slides }) {
  const moves = slides.moves.reduce((sum, count) => sum + count, 0);
  return [
    refusals.count === 0 ? 'every request was served' : countOf(refusals.count, 'request') + ' refused',
    moves === 0 ? 'nothing moved' : countOf(moves, 'move') + ' in ' + countOf(slides.count, 'compaction'),
  ];
}

function kindText({ kind, moments }) {
  return {
    replayed: ['replayed', countOf(moments, 'event')],
    recorded: ['as recorded', countOf(moments, 'event')],
    state: ['a snapshot'],
  }[kind];
}

function swatch(colour, text) {
  const square = make('i', '', 'swatch');
  square.style.background = colour;
  return make('span', [square, text]);
}

function showLegends(colouring, report) {
  const { kind } = report.facts;
  const entries = colouring.names.map((name, k) => name && swatch(colouring.colours[k], name)).filter(Boolean);
  const marks = kind === 'state' ? [] : [make('span', '▼ refused'), make('span', '▲ blocks moved')];
  put('legend', ...entries, ...marks);
  const known = [swatch(Curves.LARGEST, 'largest free range'),
    swatch(Curves.FRAGMENTATION, 'fragmentation: free bytes not in the largest range')];
  const reserved = knowsReserved(report) ? [swatch(styleOf('--ink'), 'reserved')] : [];
  put('curves-legend', ...reserved, swatch(styleOf('--accent'), 'live'),
    ...(kind === 'recorded' ? [] : known));
}
