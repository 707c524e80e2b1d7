/* Power and activity of the machine: sensors, and the sampler that reads them on time.
 *
 * A sensor (nvml, rapl, acpi, cray ...) finds devices; each device has a channel for each quantity that can be read.
 * The sampler reads every channel at a steady rate and hands samples to one consumer.
 *
 *     struct wl_sensors *sensors;
 *     struct wl_sampler *sampler;
 *     wl_sensors_open(&sensors, &opts, a, e);              devices and channels are known from here on
 *     wl_sampler_start(&sampler, sensors, opts.rate_hz, a, e);  the first samples are taken inside this call
 *     wl_sampler_watch(sampler, pid);                      the job whose processes `proc` follows
 *     while (running) n = wl_sampler_drain(sampler, buffer, WL_COUNT(buffer));
 *     wl_sampler_stop(sampler);                            the last samples are taken inside this call
 *     while ((n = wl_sampler_drain(sampler, buffer, WL_COUNT(buffer))) > 0) ...
 *
 * Times are int64 ns of CLOCK_MONOTONIC. A reading that failed is NAN, never 0.
 */
#ifndef WL_POWER_POWER_H
#define WL_POWER_POWER_H

#include "energy/energy.h"
#include "power/energy_sources.h"
#include "power/node/process_list.h"
#include "power/nvml/calibrate.h"
#include "power/nvml/limits.h"
#include "power/nvml/users.h"
#include "power/quantity.h"
#include "power/sampler/sampler.h"
#include "power/sensor_response.h"
#include "power/sensors.h"

#endif
