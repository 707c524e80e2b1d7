#include "train/workload.h"

const struct wl_workload *const wl_workloads[] = { &wl_workload_resnet50,    &wl_workload_vgg16,
                                                   &wl_workload_inception3,  &wl_workload_schnet,
                                                   &wl_workload_dimenet,     &wl_workload_bert,
                                                   &wl_workload_fourcastnet, NULL };

static struct wl_train_attr *add(struct wl_train_task *j, const char *name)
{
    WL_CHECK(j->n_attrs < WL_MAX_TRAIN_ATTRS);
    struct wl_train_attr *f = &j->attrs[j->n_attrs++];
    f->name = name;
    f->default_value = -1;
    return f;
}

void wl_train_task_attr(struct wl_train_task *j, const char *name, int64_t value) { add(j, name)->value = value; }

void wl_train_task_attr_since(struct wl_train_task *j, const char *name, int64_t value, int64_t default_value)
{
    struct wl_train_attr *f = add(j, name);
    f->value = value;
    f->default_value = default_value;
}

void wl_train_task_attr_text(struct wl_train_task *j, const char *name, const char *text) { add(j, name)->text = text; }

double wl_train_metric_mean(const struct wl_train_metric *m, const double *sum)
{
    return sum[m->index] / sum[WL_SUM_COUNTED];
}
