#include "order.h"

#include "report.h"
#include "work.h"

#include <stdlib.h>
#include <string.h>

/* ---- Stretches --------------------------------------------------------- */

/* The first stretch that ends above `at`. */
static size_t first_above(const sd_marks_t *marks, uint64_t at)
{
    size_t low = 0;
    size_t high = marks->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (marks->list[middle].end <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void drop_readers(sd_mark_t *mark)
{
    free(mark->readers);
    mark->readers = NULL;
    mark->reader_count = 0;
}

/* Replaces `gone` stretches at `index` by one empty slot or none. */
static void resize_at(sd_marks_t *marks, size_t index, size_t gone, size_t added)
{
    size_t count = marks->count - gone + added;
    if (count > marks->room) {
        size_t room = count * 2;
        sd_mark_t *list = realloc(marks->list, room * sizeof(*list));
        if (list == NULL)
            sd_die("the host is out of memory");
        marks->list = list;
        marks->room = room;
    }
    sd_mark_t *at = marks->list + index;
    memmove(at + added, at + gone, (marks->count - index - gone) * sizeof(*at));
    marks->count = count;
}

static sd_toucher_t *copy_readers(const sd_mark_t *mark)
{
    size_t bytes = mark->reader_count * sizeof(sd_toucher_t);
    sd_toucher_t *readers = bytes != 0 ? malloc(bytes) : NULL;
    if (bytes != 0 && readers == NULL)
        sd_die("the host is out of memory");
    if (bytes != 0)
        memcpy(readers, mark->readers, bytes);
    return readers;
}

/* Cuts the stretch at `index` in two at `at`, which lies inside. */
static void split(sd_marks_t *marks, size_t index, uint64_t at)
{
    resize_at(marks, index, 0, 1);
    sd_mark_t *left = &marks->list[index];
    sd_mark_t *right = left + 1;
    *left = *right;
    left->readers = copy_readers(right);
    left->end = at;
    right->begin = at;
}

/* Makes `begin` and `end` ends of stretches; gives the first one in between. */
static size_t cut_out(sd_marks_t *marks, uint64_t begin, uint64_t end)
{
    size_t index = first_above(marks, begin);
    if (index < marks->count && marks->list[index].begin < begin)
        split(marks, index++, begin);
    size_t last = first_above(marks, end);
    if (last < marks->count && marks->list[last].begin < end)
        split(marks, last, end);
    return index;
}

/* ---- Conflicts --------------------------------------------------------- */

static bool same(sd_tick_t a, sd_tick_t b)
{
    return a.line == b.line && a.at == b.at;
}

static bool ordered(const sd_work_t *work, sd_tick_t tick)
{
    return work != NULL ? sd_work_after(work, tick) : sd_observed(tick);
}

static void complain(const sd_work_t *work, bool writes, const sd_toucher_t *other,
                     bool other_writes, uint64_t address, uint64_t bytes)
{
    static sd_tick_t last_work; /* a kernel's steps would say it again */
    static sd_tick_t last_other;
    char text[128] = "the host";
    sd_tick_t tick = {0, 0};
    if (work != NULL)
        tick = (sd_tick_t){work->line->id, work->at};
    if (work != NULL && same(tick, last_work) && same(other->tick, last_other))
        return;
    last_work = tick;
    last_other = other->tick;
    if (work != NULL)
        sd_work_text(work, text, sizeof(text));
    sd_report(STANDIN_MISSING_WAIT,
              "%s %s %llu bytes at %#llx that %s on stream %llu %s; nothing "
              "orders the two",
              text, writes ? "writes" : "reads", (unsigned long long)bytes,
              (unsigned long long)address, other->call,
              (unsigned long long)sd_line_of(other->tick.line)->stream_id,
              other_writes ? "writes" : "reads");
}

/* Reports once for each unit that the access conflicts with. */
static void check(const sd_work_t *work, bool writes, const sd_mark_t *mark, uint64_t address,
                  sd_tick_t *told)
{
    const sd_toucher_t *writer = &mark->writer;
    uint64_t bytes = mark->end - mark->begin;
    if (!ordered(work, writer->tick) && !same(*told, writer->tick)) {
        complain(work, writes, writer, true, address + mark->begin, bytes);
        *told = writer->tick;
    }
    for (uint32_t i = 0; writes && i < mark->reader_count; i++) {
        const sd_toucher_t *reader = &mark->readers[i];
        if (!ordered(work, reader->tick) && !same(*told, reader->tick)) {
            complain(work, writes, reader, false, address + mark->begin, bytes);
            *told = reader->tick;
        }
    }
}

/* ---- Accesses ---------------------------------------------------------- */

static void add_reader(sd_mark_t *mark, sd_toucher_t reader)
{
    for (uint32_t i = 0; i < mark->reader_count; i++) {
        if (mark->readers[i].tick.line == reader.tick.line) {
            mark->readers[i] = reader;
            return;
        }
    }
    sd_toucher_t *readers = realloc(mark->readers, (mark->reader_count + 1) * sizeof(*readers));
    if (readers == NULL)
        sd_die("the host is out of memory");
    mark->readers = readers;
    readers[mark->reader_count++] = reader;
}

static bool touched_alike(const sd_mark_t *a, const sd_mark_t *b)
{
    if (!same(a->writer.tick, b->writer.tick) || a->reader_count != b->reader_count ||
        a->reader_count > 1)
        return false;
    return a->reader_count == 0 || same(a->readers[0].tick, b->readers[0].tick);
}

/* Joins a stretch to the one before where the same units touched both. */
static void join(sd_marks_t *marks, size_t index)
{
    if (index == 0 || index >= marks->count)
        return;
    sd_mark_t *left = &marks->list[index - 1];
    sd_mark_t *right = left + 1;
    if (left->end != right->begin || !touched_alike(left, right))
        return;
    left->end = right->end;
    drop_readers(right);
    resize_at(marks, index, 1, 0);
}

/* Fills the gaps between the stretches of the range. */
static void note_read(sd_marks_t *marks, size_t index, uint64_t begin, uint64_t end,
                      sd_toucher_t reader)
{
    size_t first = index;
    while (begin < end) {
        bool here = index < marks->count && marks->list[index].begin < end;
        uint64_t next = here ? marks->list[index].begin : end;
        if (begin < next) {
            resize_at(marks, index, 0, 1);
            marks->list[index] = (sd_mark_t){.begin = begin, .end = next};
        }
        sd_mark_t *mark = &marks->list[index++];
        add_reader(mark, reader);
        begin = mark->end;
    }
    join(marks, index);
    join(marks, first);
}

static bool is_idle(const sd_mark_t *mark)
{
    bool idle = sd_idle(mark->writer.tick);
    for (uint32_t i = 0; i < mark->reader_count; i++)
        idle = idle && sd_idle(mark->readers[i].tick);
    return idle;
}

/* Forgets what lies before all to come, each time that the list doubled. */
static void sweep(sd_marks_t *marks)
{
    size_t kept = 0;
    if (marks->count < 256 || marks->count < marks->swept * 2)
        return;
    for (size_t i = 0; i < marks->count; i++) {
        if (is_idle(&marks->list[i]))
            drop_readers(&marks->list[i]);
        else
            marks->list[kept++] = marks->list[i];
    }
    marks->count = marks->swept = kept;
}

static void note_write(sd_marks_t *marks, size_t index, size_t count, uint64_t begin, uint64_t end,
                       sd_toucher_t writer)
{
    for (size_t i = index; i < index + count; i++)
        drop_readers(&marks->list[i]);
    resize_at(marks, index, count, 1);
    marks->list[index] = (sd_mark_t){.begin = begin, .end = end, .writer = writer};
    join(marks, index + 1);
    join(marks, index);
}

void sd_marks_note(sd_marks_t *marks, const sd_work_t *work, uint64_t begin, uint64_t end,
                   bool writes)
{
    if (work == NULL)
        return; /* the host is done when it says so */
    sweep(marks);
    size_t index = cut_out(marks, begin, end);
    size_t last = index;
    while (last < marks->count && marks->list[last].begin < end)
        last++;
    sd_toucher_t toucher = {{work->line->id, work->at}, work->call};
    if (writes)
        note_write(marks, index, last - index, begin, end, toucher);
    else
        note_read(marks, index, begin, end, toucher);
}

void sd_marks_touch(sd_marks_t *marks, const sd_work_t *work, uint64_t begin, uint64_t end,
                    bool writes, uint64_t address)
{
    sd_tick_t told = {0, 0};
    for (size_t i = cut_out(marks, begin, end); i < marks->count && marks->list[i].begin < end; i++)
        check(work, writes, &marks->list[i], address, &told);
    sd_marks_note(marks, work, begin, end, writes);
}

bool sd_marks_unseen(const sd_marks_t *marks, uint64_t begin, uint64_t end, sd_toucher_t *toucher)
{
    for (size_t i = first_above(marks, begin); i < marks->count && marks->list[i].begin < end;
         i++) {
        const sd_mark_t *mark = &marks->list[i];
        *toucher = mark->writer;
        if (!sd_observed(mark->writer.tick))
            return true;
        for (uint32_t j = 0; j < mark->reader_count; j++) {
            *toucher = mark->readers[j];
            if (!sd_observed(mark->readers[j].tick))
                return true;
        }
    }
    return false;
}

void sd_marks_free(sd_marks_t *marks)
{
    for (size_t i = 0; i < marks->count; i++)
        drop_readers(&marks->list[i]);
    free(marks->list);
    *marks = (sd_marks_t){NULL, 0, 0, 0};
}
