/* SPDX-License-Identifier: Apache-2.0 */
/* posts.c - see posts.h. Ids rise, so a new job almost always goes to the end. */
#include "backend/local/posts.h"

#include <string.h>

#include "base/mem.h"

/* Index of the first post whose job is not below `job`. */
static size_t place(const struct posts *posts, uint32_t job)
{
    size_t low = 0;
    size_t high = posts->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (posts->items[middle]->job < job)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct post *posts_find(const struct posts *posts, uint32_t job)
{
    size_t at = place(posts, job);

    return at < posts->n && posts->items[at]->job == job ? posts->items[at] : NULL;
}

struct post *posts_get(struct posts *posts, struct local *local, uint32_t job)
{
    size_t at = place(posts, job);
    void *array = posts->items;
    struct post *post;

    if (at < posts->n && posts->items[at]->job == job)
        return posts->items[at];
    if (mem_reserve(&array, &posts->cap, posts->n + 1, sizeof(*posts->items)) < 0)
        return NULL;
    posts->items = array;
    post = mem_new(1, sizeof(*post));
    if (!post)
        return NULL;
    *post = (struct post){.local = local, .job = job};
    memmove(&posts->items[at + 1], &posts->items[at],
            (posts->n - at) * sizeof(*posts->items));
    posts->items[at] = post;
    posts->n++;
    return post;
}

static void post_free(struct post *post)
{
    loop_child_drop(post->child);
    mem_free(post);
}

void posts_remove(struct posts *posts, uint32_t job)
{
    size_t at = place(posts, job);

    if (at == posts->n || posts->items[at]->job != job)
        return;
    post_free(posts->items[at]);
    posts->n--;
    memmove(&posts->items[at], &posts->items[at + 1],
            (posts->n - at) * sizeof(*posts->items));
}

void posts_release(struct posts *posts)
{
    for (size_t i = 0; i < posts->n; i++)
        post_free(posts->items[i]);
    mem_free(posts->items);
    *posts = (struct posts){0};
}
