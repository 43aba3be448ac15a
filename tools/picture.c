#include "picture.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "columns.h"
#include "raster.h"

/* Where things are, in units of the picture. */
#define WIDTH 1000
#define HEIGHT 640
#define LEFT 84
#define RIGHT 988
#define MAP_TOP 64
#define MAP_BOTTOM 430
#define CURVES_TOP 494
#define CURVES_BOTTOM 604
#define ACROSS (RIGHT - LEFT)
#define SHARP 2 /* pixels of the map for each unit */
#define STEP 2  /* units across for each point of a curve */

typedef struct picture {
    const page_subject_t *subject;
    const history_t *h;
    FILE *out;
} picture_t;

/* ---- Words ----------------------------------------------------------------------- */

static void put_text(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        default:
            fputc((unsigned char)*text >= ' ' ? *text : '?', out);
        }
    }
}

static void put_label(const picture_t *p, double x, double y, const char *style, const char *text)
{
    fprintf(p->out, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, style);
    put_text(p->out, text);
    fputs("</text>\n", p->out);
}

static const char to_the_left[] = " text-anchor=\"end\"";
static const char in_the_middle[] = " text-anchor=\"middle\"";

static uint64_t highest(const history_t *h, uint64_t (*number)(const sample_t *))
{
    uint64_t most = 1;
    for (size_t i = 0; i < h->moments; i++)
        most = number(&h->samples[i]) > most ? number(&h->samples[i]) : most;
    return most;
}

static uint64_t reserved(const sample_t *sample)
{
    return sample->reserved_bytes;
}

static uint64_t live(const sample_t *sample)
{
    return sample->live_bytes;
}

static uint64_t largest(const sample_t *sample)
{
    return sample->largest_bytes;
}

/* A recording may have no line of what was taken from the memory. */
static bool knows_reserved(const history_t *h)
{
    for (size_t i = 0; i < h->moments; i++)
        if (h->samples[i].reserved_bytes != 0)
            return true;
    return false;
}

static void put_title(const picture_t *p)
{
    char text[256], most_live[32], most_reserved[32], preset[64] = "";
    bool known = knows_reserved(p->h);
    const player_setup_t *setup = p->subject->setup;
    bytes_text(most_live, sizeof most_live, (double)highest(p->h, live));
    bytes_text(most_reserved, sizeof most_reserved, (double)highest(p->h, reserved));
    if (setup != NULL)
        (void)cuarena_config_get(&setup->config, "preset", preset, sizeof preset);
    (void)snprintf(text, sizeof text, "%s%s%" PRIu64 " events, live at most %s%s%s, refused %zu",
                   setup != NULL ? "preset " : "", preset[0] != '\0' ? strcat(preset, ", ") : "",
                   p->h->moments, most_live, known ? ", reserved at most " : "",
                   known ? most_reserved : "", p->h->refusal_count);
    put_label(p, LEFT, 24, " font-size=\"17\" font-weight=\"600\"", p->subject->title);
    put_label(p, LEFT, 44, " fill=\"#5a616b\"", text);
}

static void put_legend(const picture_t *p, const colouring_t *colouring)
{
    double x = LEFT;
    for (size_t i = 0; i < colouring->count; i++) {
        const colour_t *colour = &colouring->colours[i];
        if (colour->name[0] == '\0')
            continue;
        fprintf(p->out,
                "<rect x=\"%.1f\" y=\"462\" width=\"11\" height=\"11\" fill=\"#%02x%02x%02x\"/>\n",
                x, colour->red, colour->green, colour->blue);
        put_label(p, x + 15, 472, "", colour->name);
        x += 32 + 6.4 * (double)strlen(colour->name);
    }
}

/* ---- Axes -------------------------------------------------------------------------- */

static double x_of(const picture_t *p, double moment)
{
    return LEFT + moment / (double)p->h->moments * ACROSS;
}

/* The round number above `rough`: a power of two, or 1, 2 or 5 times one of ten. */
static double step_of(double rough, bool of_two)
{
    if (of_two)
        return fmax(1, exp2(ceil(log2(rough))));
    double power = pow(10, floor(log10(rough)));
    double step = rough <= power ? 1 : rough <= 2 * power ? 2 : rough <= 5 * power ? 5 : 10;
    return fmax(1, power * step);
}

static void put_moments(const picture_t *p, double y)
{
    double moments = (double)p->h->moments, step = step_of(moments / 9, false);
    for (double at = 0; at <= moments; at += step) {
        char text[32];
        (void)snprintf(text, sizeof text, "%.0f", at);
        fprintf(p->out, "<path d=\"M%.1f %.1fv4\" stroke=\"#888\"/>\n", x_of(p, at), y);
        put_label(p, x_of(p, at), y + 17, in_the_middle, text);
    }
}

/* Labels from `bottom` up to `top`, which stands for `most`. */
static void put_bytes(const picture_t *p, double top, double bottom, double most, double count)
{
    double step = step_of(most / count, true);
    for (double at = 0; at <= most; at += step) {
        char text[32];
        double y = bottom - at / most * (bottom - top);
        bytes_text(text, sizeof text, at);
        fprintf(p->out, "<path d=\"M%d %.1fh-4\" stroke=\"#888\"/>\n", LEFT, y);
        put_label(p, LEFT - 7, y + 4, to_the_left, text);
    }
}

static void put_frame(const picture_t *p, int top, int bottom)
{
    fprintf(p->out,
            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#888\"/>\n",
            LEFT, top, ACROSS, bottom - top);
}

/* ---- The map ------------------------------------------------------------------------ */

static void put_image(const picture_t *p, const colouring_t *colouring)
{
    size_t length = 0;
    raster_t raster = raster_draw(p->h, colouring, (size_t)SHARP * ACROSS,
                                  (size_t)SHARP * (MAP_BOTTOM - MAP_TOP));
    uint8_t *png = raster_png(&raster, &length);
    fprintf(p->out,
            "<image x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
            "xlink:href=\"data:image/png;base64,",
            LEFT, MAP_TOP, ACROSS, MAP_BOTTOM - MAP_TOP);
    base64_write(png, length, p->out);
    fputs("\"/>\n", p->out);
    free(png);
    raster_free(&raster);
}

static double y_of(const picture_t *p, uint64_t offset)
{
    return MAP_BOTTOM - (double)offset / (double)history_span_bytes(p->h) * (MAP_BOTTOM - MAP_TOP);
}

static void put_slides(const picture_t *p)
{
    for (size_t i = 0; i < p->h->slide_count && i < ACROSS; i++)
        fprintf(p->out, "<path d=\"M%.1f %dl-4 7h8z\" fill=\"#0072b2\"/>\n",
                x_of(p, (double)p->h->slides[i].moment), MAP_BOTTOM);
}

/* The first refusal: when, where it would have fitted, and what was free. */
static void put_refusal(const picture_t *p)
{
    const refusal_t *refusal = p->h->refusals;
    const obstacle_t *obstacle = &p->h->obstacle;
    char text[160], asked[32], free_text[32], most[32];
    if (p->h->refusal_count == 0 || p->h->kind == HISTORY_STATE)
        return;
    double x = x_of(p, (double)refusal->moment);
    fprintf(p->out, "<path d=\"M%.1f %dV%d\" stroke=\"#b3361b\"/>\n", x, MAP_TOP - 6, MAP_BOTTOM);
    if (obstacle->found) {
        double top =
            y_of(p, history_offset(p->h, obstacle->begin) + obstacle->end - obstacle->begin);
        double bottom = y_of(p, history_offset(p->h, obstacle->begin));
        fprintf(p->out,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"20\" height=\"%.1f\" fill=\"none\" "
                "stroke=\"#b3361b\" stroke-width=\"2\"/>\n",
                x - 10, top, fmax(2, bottom - top));
    }
    bytes_text(asked, sizeof asked, (double)refusal->asked_bytes);
    bytes_text(free_text, sizeof free_text, (double)refusal->free_bytes);
    bytes_text(most, sizeof most, (double)refusal->largest_bytes);
    (void)snprintf(text, sizeof text, "refused %s: %s free, largest %s", asked, free_text, most);
    bool right = x > (LEFT + RIGHT) / 2.0;
    fprintf(p->out, "<g fill=\"#b3361b\">");
    put_label(p, x + (right ? -5 : 5), MAP_TOP - 5, right ? to_the_left : "", text);
    fputs("</g>\n", p->out);
}

/* ---- Curves -------------------------------------------------------------------------- */

/* A point for the least and one for the most of what each step across stands for. */
static void put_points(const picture_t *p, uint64_t (*number)(const sample_t *), double most)
{
    size_t moments = p->h->moments;
    for (size_t x = 0; x < ACROSS; x += STEP) {
        size_t from = x * moments / ACROSS, to = (x + STEP) * moments / ACROSS;
        uint64_t low = UINT64_MAX, high = 0;
        to = to > from ? to : from + 1;
        for (size_t i = from; i < to; i++) {
            uint64_t bytes = number(&p->h->samples[i]);
            low = bytes < low ? bytes : low;
            high = bytes > high ? bytes : high;
        }
        double tall = CURVES_BOTTOM - CURVES_TOP;
        fprintf(p->out, "%zu %.1f ", x + LEFT, CURVES_BOTTOM - (double)low / most * tall);
        if (high != low)
            fprintf(p->out, "%zu %.1f ", x + LEFT, CURVES_BOTTOM - (double)high / most * tall);
    }
}

static void put_curve(const picture_t *p, uint64_t (*number)(const sample_t *), double most,
                      const char *colour)
{
    fprintf(p->out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.2\" points=\"", colour);
    put_points(p, number, most);
    fputs("\"/>\n", p->out);
}

static const char *curves_legend(const history_t *h)
{
    if (!knows_reserved(h))
        return "blue: live";
    return h->kind == HISTORY_RECORDED ? "black: reserved, blue: live"
                                       : "black: reserved, blue: live, orange: largest free range";
}

static void put_curves(const picture_t *p)
{
    uint64_t most_reserved = highest(p->h, reserved), most_live = highest(p->h, live);
    double most = 1.04 * (double)(most_reserved > most_live ? most_reserved : most_live);
    fprintf(p->out, "<polygon fill=\"#56b4e9\" points=\"%d %d ", LEFT, CURVES_BOTTOM);
    put_points(p, live, most);
    fprintf(p->out, "%d %d\"/>\n", RIGHT - STEP, CURVES_BOTTOM);
    if (p->h->kind != HISTORY_RECORDED)
        put_curve(p, largest, most, "#d55e00");
    if (knows_reserved(p->h))
        put_curve(p, reserved, most, "#1b1e23");
    put_bytes(p, CURVES_TOP, CURVES_BOTTOM, most, 4);
    put_frame(p, CURVES_TOP, CURVES_BOTTOM);
    put_moments(p, CURVES_BOTTOM);
    put_label(p, RIGHT - 4, CURVES_TOP - 6, to_the_left, curves_legend(p->h));
}

/* ---- The whole ------------------------------------------------------------------------ */

void picture_write(const page_subject_t *subject, FILE *out)
{
    const picture_t p = {subject, subject->history, out};
    colouring_t colouring = colouring_make(p.h, subject->colour);
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" "
            "xmlns:xlink=\"http://www.w3.org/1999/xlink\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#1b1e23\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT);
    put_title(&p);
    put_image(&p, &colouring);
    put_slides(&p);
    put_refusal(&p);
    put_bytes(&p, MAP_TOP, MAP_BOTTOM, (double)history_span_bytes(p.h), 8);
    put_frame(&p, MAP_TOP, MAP_BOTTOM);
    put_legend(&p, &colouring);
    if (p.h->kind != HISTORY_STATE) {
        put_moments(&p, MAP_BOTTOM);
        put_curves(&p);
    }
    fputs("</svg>\n", out);
    colouring_free(&colouring);
}
