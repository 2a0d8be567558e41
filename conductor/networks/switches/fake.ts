import type { SwitchDriver, SwitchPortOperation } from '#conductor/networks/switch-driver.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** A switch in memory, for tests: the driver and what a test may look at and break. */
export interface FakeSwitch {
  readonly driver: SwitchDriver;
  readonly endpoint: string;
  /** Port → access VLAN; `undefined` = isolated, 0 = in no known network. */
  readonly ports: Map<string, number | undefined>;
  /** Every operation ever applied, in order. */
  readonly applied: SwitchPortOperation[];
  /** The error that every call throws, until it is set back to `undefined`. */
  failure: AppError | undefined;
}

/** Ports start outside every known network, like the ports of a new switch. */
export function createFakeSwitch(options: { readonly ports: readonly string[]; readonly name?: string }): FakeSwitch {
  const endpoint = `fake:${options.name ?? 'switch'}`;
  const fake: FakeSwitch = {
    endpoint,
    ports: new Map(options.ports.map((portId) => [portId, 0])),
    applied: [],
    failure: undefined,
    driver: {
      name: 'fake',
      logsIn: false,
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
            return portIds.map((portId) => ({ portId, accessVlan: fake.ports.get(portId) }));
          },
          apply: async (operations, signal) => {
            check(
              operations.map((operation) => operation.portId),
              signal,
            );
            for (const operation of operations) {
              fake.ports.set(operation.portId, operation.kind === 'isolate' ? undefined : operation.vlan);
              fake.applied.push(operation);
            }
          },
          close: async () => undefined,
        };
      },
    },
  };
  return fake;
}
