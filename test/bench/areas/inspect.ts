import { inParallel } from '#shared/in-parallel.ts';
import { type MeasuredServer, startServer } from '#test/bench/api/server.ts';
import { type Area, type Figure, percentile, round } from '#test/bench/area.ts';
import { type Machines, startMachines } from '#test/bench/fleet/start-machines.ts';
import { cpuSeconds, loadAverage } from '#test/bench/process-figures.ts';
import { waitUntil } from '#test/lab/wait-until.ts';

const fleet = 1000;
const alone = 20;
const askedAtOnce = 25;

/** Area of inspections by the BMC, from the request to manageable again: of nodes one by one, and of a thousand at once. */
export const inspectArea: Area = {
  name: 'inspect',
  measure: async ({ say }) => {
    // each call to a BMC is a line of the log
    const server = await startServer('pg', say, { BATON_LOG_LEVEL: 'info', BATON_POWER_SYNC_INTERVAL: '3600' });
    let machines: Machines | undefined;
    try {
      machines = await startMachines(fleet, { groups: 1, urls: [server.conductor.url] });
      say(`enrolling ${fleet} nodes`);
      await inParallel(machines.all, (machine) => enrol(server, machine), { atOnce: askedAtOnce });
      await allManageable(server);
      const each: number[] = [];
      for (const { name } of machines.all.slice(0, alone)) each.push(await inspectAlone(server, name));
      return {
        alone_s_p95: { value: round(percentile(each, 0.95), 2), unit: 's' },
        ...(await inspectAll(server, machines, say)),
      };
    } finally {
      await machines?.close();
      await server.close();
    }
  },
};

async function enrol({ operator }: MeasuredServer, { name, address }: Machines['all'][number]): Promise<void> {
  await operator.call('POST', '/v1/nodes', {
    name,
    driver: 'redfish',
    driver_info: { redfish_address: address, redfish_username: 'admin', redfish_password: 'simulated' },
    inspect_interface: 'redfish',
    network_interface: 'noop',
  });
  await operator.provision(name, 'manage');
}

async function inspectAlone({ operator }: MeasuredServer, name: string): Promise<number> {
  const began = performance.now();
  await operator.provision(name, 'inspect');
  await waitUntil(
    `${name} to be inspected`,
    async () => (await operator.node(name))['provision_state'] === 'manageable' || undefined,
    { everyMs: 20 },
  );
  return (performance.now() - began) / 1000;
}

async function inspectAll(
  server: MeasuredServer,
  machines: Machines,
  say: (line: string) => void,
): Promise<Record<string, Figure>> {
  const { conductor, operator } = server;
  const cpu = [await cpuSeconds(conductor.pid()), await machines.cpuSeconds()] as const;
  const logged = conductor.log().length;
  const began = performance.now();
  await inParallel(machines.all, ({ name }) => operator.provision(name, 'inspect'), { atOnce: askedAtOnce });
  await allManageable(server);
  const seconds = (performance.now() - began) / 1000;
  const spent = [(await cpuSeconds(conductor.pid())) - cpu[0], (await machines.cpuSeconds()) - cpu[1]] as const;
  say(`CPU: ${round(spent[0])} s of the conductor, ${round(spent[1])} s of the machines; load ${await loadAverage()}`);
  const calls = readCalls(conductor.log().slice(logged));
  return {
    [`all_${fleet}_s`]: { value: round(seconds), unit: 's' },
    conductor_cpu_s: { value: round(spent[0]), unit: 's' },
    read_s_p95: {
      value: round(
        percentile(
          calls.map(({ began: from, ended }) => (ended - from) / 1000),
          0.95,
        ),
        2,
      ),
      unit: 's',
    },
    most_at_once: { value: mostAtOnce(calls), unit: 'BMCs' },
  };
}

/** @throws Error with its last_error as soon as one has failed */
async function allManageable({ operator }: MeasuredServer): Promise<void> {
  await waitUntil(
    'all nodes to be manageable',
    async () => {
      const answer = await operator.call('GET', '/v1/nodes?fields=name,provision_state,last_error&limit=1000');
      const list = answer['nodes'] as { name: string; provision_state: string; last_error: string | null }[];
      const failed = list.find(({ last_error: error }) => error !== null);
      if (failed) throw new Error(`${failed.name} failed: ${failed.last_error}`);
      return list.every((node) => node.provision_state === 'manageable') || undefined;
    },
    { timeoutMs: 600_000, everyMs: 500 },
  );
}

interface Call {
  /** Milliseconds. */
  readonly began: number;
  readonly ended: number;
}

function readCalls(log: string): Call[] {
  const lines = log.split('\n').filter((line) => line.includes('"read the machine"'));
  return lines.map((line) => {
    const { time, durationMs } = JSON.parse(line) as { time: number | string; durationMs: number };
    const ended = new Date(time).getTime();
    return { began: ended - durationMs, ended };
  });
}

function mostAtOnce(calls: readonly Call[]): number {
  return Math.max(
    ...calls.map(({ began }) => calls.filter((each) => each.began <= began && each.ended > began).length),
  );
}
