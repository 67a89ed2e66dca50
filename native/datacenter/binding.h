// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <nanobind/nanobind.h>

namespace ccbench::datacenter {

// Adds datacenter_simulate() to the extension module.
void bind(nanobind::module_& module);

// Adds DatacenterSwitch, a single switch of the simulator, for tests.
void bind_probe(nanobind::module_& module);

}  // namespace ccbench::datacenter
