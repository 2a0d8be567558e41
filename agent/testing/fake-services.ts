import type { CommandServices } from '#agent/commands/command.ts';
import type { AgentStep } from '#agent/context.ts';
import type { ActiveHardware } from '#agent/hardware/active-hardware.ts';
import { type HardwareManager, hardwareSupport } from '#agent/hardware/hardware-manager.ts';
import { createInstantClock } from '#agent/testing/fake-clock.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import type { RunResult } from '#shared/process/run.ts';

/** A hardware manager with these steps. */
export function fakeHardware(
  steps: readonly AgentStep[],
  overrides: Partial<HardwareManager> = {},
  support: 1 | 2 | 3 = hardwareSupport.generic,
): ActiveHardware[number] {
  return {
    support,
    manager: {
      className: 'FakeHardware',
      name: 'fake_hardware',
      version: '1',
      evaluateSupport: () => Promise.resolve(support),
      steps,
      ...overrides,
    },
  };
}

/** Makes the services that commands need, on a machine that has no programs. */
export function fakeServices(overrides: Partial<CommandServices> = {}): CommandServices {
  return {
    run: (command) => Promise.reject(new AppError('command_failed', `${command} could not be started`)),
    clock: createInstantClock(),
    log: silentLog,
    say: () => undefined,
    signal: new AbortController().signal,
    hardware: [fakeHardware([])],
    bootMac: undefined,
    node: () => ({ uuid: 'looked-up', properties: {}, instance_info: {}, driver_internal_info: {} }),
    reportProgress: () => () => undefined,
    writtenImage: { current: undefined },
    inventory: () => Promise.reject(new AppError('not_supported', 'this machine has no inventory')),
    heardLldp: () => Promise.resolve({ interfaces: [] }),
    recentLog: () => '',
    lockdown: () => undefined,
    standAside: () => undefined,
    ...overrides,
  };
}

export function ranWell(stdout = ''): RunResult {
  return { stdout, stderr: '', exitCode: 0, durationMs: 1 };
}
