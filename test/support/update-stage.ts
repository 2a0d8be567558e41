import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { silentLog } from '#shared/log.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { waitUntil } from '#test/support/step-node.ts';

type Row = { readonly wait_until: string | null; readonly retry_until: string | null };

/** A conductor, and for each test a node of its own that is manageable and on, and whose firmware takes its time. */
export class UpdateStage {
  conductor!: ConductorInProcess;
  /** Tries again while a conductor is at the node. */
  operator!: Operator;
  /** Takes no for an answer. */
  hasty!: Operator;
  machine!: SimulatedNode;
  name!: string;
  /** Lets the update be written. */
  letItEnd!: () => void;

  /** Asks for updates without a ramdisk. */
  readonly clean = (...settings: readonly object[]): Promise<void> =>
    this.operator.provision(this.name, 'clean', { clean_steps: [update(...settings)], disable_ramdisk: true });

  readonly look = (): Promise<unknown> =>
    this.hasty.call('POST', `/v1/nodes/${this.name}/flow/retry`).catch(() => undefined);

  /** Looks until the node's flow says so. */
  readonly says = (words: string): Promise<true> =>
    waitUntil(words, async () => {
      await this.look();
      const flow = await this.operator.call('GET', `/v1/nodes/${this.name}/flow`);
      return JSON.stringify(flow).includes(words) || undefined;
    });

  readonly rests = (state: string): Promise<true> =>
    waitUntil(state, async () => {
      await this.look();
      const { provision_state: now, reservation } = await this.operator.node(this.name);
      return (now === state && reservation === null) || undefined;
    });

  readonly version = async (component: string): Promise<unknown> => {
    const { firmware } = (await this.operator.call('GET', `/v1/nodes/${this.name}/firmware`)) as {
      firmware: readonly { readonly component: string; readonly current_version: string }[];
    };
    return firmware.find((each) => each.component === component)?.current_version;
  };

  /** Counts the BMC's requests whose path ends so. */
  readonly posts = (end: 'SimpleUpdate' | 'ComputerSystem.Reset'): number =>
    this.machine.bmc.requests.filter(({ method, path }) => method === 'POST' && path.endsWith(end)).length;

  readonly stepRow = async (): Promise<Row | undefined> => {
    const { rows } = (await this.conductor.context().db.execute(
      sql`select wait_until::text, retry_until::text from flow_steps join flows on flows.uuid = flow_uuid
          join nodes on nodes.uuid = node_uuid where nodes.name = ${this.name} and step = 'update'`,
    )) as { rows: readonly Row[] };
    return rows[0];
  };

  /** Moves the clock on for the update that is asked for: what was noted of it is so much older. */
  readonly pass = async (ms: number): Promise<void> => {
    const older = (key: string) => sql`to_jsonb((output->'asked'->>${key}::text)::float8 - ${ms}::float8)`;
    const byMs = sql`make_interval(secs => ${ms}::float8 / 1000)`;
    await this.conductor.context().db.execute(
      sql`update flow_steps set wait_until = wait_until - ${byMs},
            output = jsonb_set(jsonb_set(output, '{asked,since}', ${older('since')}), '{asked,lastAt}', ${older('lastAt')})
          where jsonb_typeof(output->'asked') = 'object' and flow_uuid in
            (select flows.uuid from flows join nodes on nodes.uuid = node_uuid where nodes.name = ${this.name})`,
    );
  };
}

export const image = (file: string): string => `http://192.0.2.7/${file}.bin`;
export const bios = { component: 'bios', url: image('bios-2.1.0') };
export const bmc = { component: 'bmc', url: image('bmc-3.0.0') };
export const nic = { component: 'NIC.Slot.1', url: image('nic-4.0.0') };
export const update = (...settings: readonly object[]) => ({
  interface: 'firmware',
  step: 'update',
  args: { settings },
});

/** Opens the stage for the file's tests. @param prefix of nodes' names. @param byte of their MAC addresses, hexadecimal */
export function useUpdateStage(
  prefix: string,
  byte: string,
  settings: Readonly<Record<string, string>> = {},
): UpdateStage {
  const stage = new UpdateStage();
  let count = 0;
  beforeAll(async () => {
    const drivers = { redfish: { retryMs: 2 } };
    stage.conductor = await startConductorInProcess({ log: silentLog, settings, drivers });
    stage.operator = createOperator(stage.conductor.url, { retries: 30 });
    stage.hasty = createOperator(stage.conductor.url);
  });
  afterAll(() => stage.conductor.close());
  beforeEach(async () => {
    count += 1;
    const mac = `52:54:00:00:${byte}:${count.toString(16).padStart(2, '0')}`;
    const { operator } = stage;
    const machine = await startSimulatedNode({ conductorUrl: () => stage.conductor.url, mac });
    const name = await enrolSimulatedNode(operator, machine, `${prefix}-${count}`);
    await operator.provision(name, 'manage');
    await operator.waitForState(name, 'manageable');
    // what is off can't be switched off
    await operator.call('PUT', `/v1/nodes/${name}/states/power`, { target: 'power on' });
    const isOn = async () => (await operator.node(name))['power_state'] === 'power on' || undefined;
    await waitUntil(`${name} to be on`, isOn);
    const { promise, resolve } = Promise.withResolvers<void>();
    machine.bmc.quirks.flashesUntil = promise;
    Object.assign(stage, { machine, name, letItEnd: resolve });
    return async () => {
      resolve();
      await machine.close();
    };
  });
  return stage;
}
