import { describeVlans, type FoundVlans } from '#conductor/model/port-vlans.ts';
import type { SwitchDriver, SwitchPortSetting } from '#conductor/networks/switch-driver.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** A switch in memory, for tests: the driver and what a test may look at and break. */
export interface FakeSwitch {
  readonly driver: SwitchDriver;
  readonly endpoint: string;
  readonly ports: Map<string, FoundVlans>;
  /** Every setting ever applied, in order. */
  readonly applied: SwitchPortSetting[];
  /** The error that every call throws, until it is set back to `undefined`. */
  failure: AppError | undefined;
}

/** Ports start outside every known network, like the ports of a new switch. */
export function createFakeSwitch(options: { readonly ports: readonly string[]; readonly name?: string }): FakeSwitch {
  const endpoint = `fake:${options.name ?? 'switch'}`;
  const fake: FakeSwitch = {
    endpoint,
    ports: new Map(options.ports.map((portId) => [portId, 'other'])),
    applied: [],
    failure: undefined,
    driver: {
      name: 'fake',
      connect: (given) => {
        if (given.endpoint !== endpoint) {
          const right = given.endpoint.startsWith('fake:') ? 'unavailable' : 'invalid_argument';
          throw new AppError(right, `switch endpoint ${given.endpoint} is not ${endpoint}`);
        }
        const check = (portIds: readonly string[], signal: AbortSignal | undefined): void => {
          if (signal?.aborted) throw new AppError('aborted', 'the call was stopped', { cause: signal.reason });
          if (fake.failure !== undefined) throw fake.failure;
          const unknown = portIds.find((portId) => !fake.ports.has(portId));
          if (unknown !== undefined) throw new AppError('not_found', `switch ${endpoint} has no port ${unknown}`);
        };
        return {
          readPorts: async (portIds, signal) => {
            check(portIds, signal);
            return portIds.map((portId) => ({ portId, vlans: fake.ports.get(portId) ?? 'other' }));
          },
          apply: async (settings, signal) => {
            check(
              settings.map(({ portId }) => portId),
              signal,
            );
            for (const setting of settings) {
              fake.ports.set(setting.portId, setting.vlans);
              fake.applied.push(setting);
            }
          },
          describe: (settings) => settings.map(({ portId, vlans }) => `${portId}: ${describeVlans(vlans)}`),
          close: async () => undefined,
        };
      },
    },
  };
  return fake;
}
