import type { LoadRequest } from '#test/bench/api/load.ts';
import { type BenchContext, type Figure, round } from '#test/bench/area.ts';
import { askAll, post } from '#test/bench/fleet/requests.ts';
import { describeCost, type FleetScene, heaviest } from '#test/bench/fleet/scene.ts';
import { loadAverage } from '#test/bench/process-figures.ts';
import { demoInstance } from '#test/support/enrol.ts';
import { bmcCredential } from '#test/support/simulated-site.ts';

const lookEveryMs = 500;
const powerTask = 'sync power states';
/** Nodes that are verified as an operator has it done; more are written so, for their number tells nothing new of it. */
const mostManaged = 500;

/** Measures what machines cost at rest: enrolled over Redfish, all alive, and some with dead BMCs. */
export async function measureResting(
  context: BenchContext,
  scene: FleetScene,
  deadEvery: number,
): Promise<Record<string, Figure>> {
  return {
    ...(await enrol(context, scene)),
    ...(await measurePowerSync(context, scene, 'power_sync')),
    conductor_idle_mb: { value: await scene.conductorMegabytes('VmRSS'), unit: 'MB' },
    ...(await measureDeadBmcs(context, scene, deadEvery)),
  };
}

async function enrol({ say }: BenchContext, scene: FleetScene): Promise<Record<string, Figure>> {
  const { machines, database } = scene;
  const count = machines.all.length;
  const bodies = machines.all.map(({ name, address }) => ({
    name,
    driver: 'redfish',
    driver_info: {
      redfish_address: address,
      redfish_username: bmcCredential.account.username,
      redfish_password: bmcCredential.account.password,
    },
    properties: { capabilities: 'boot_mode:bios' },
    network_interface: 'noop',
    instance_info: demoInstance,
  }));
  const nodes = await scene.spent(() =>
    askAll(
      scene,
      bodies.map((body) => post('/v1/nodes', body)),
    ),
  );
  say(`create a node: ${describeCost(nodes.cost, count)}; load ${await loadAverage()}`);
  const { rows } = await database.query<{ uuid: string; name: string }>('select uuid, name from nodes');
  const uuids = new Map(rows.map(({ name, uuid }) => [name, uuid]));
  await askAll(
    scene,
    machines.all.map(({ name, mac }) => post('/v1/ports', { node_uuid: uuids.get(name), address: mac })),
  );
  const managed = await scene.spent(async () => {
    const verb = (name: string): LoadRequest => ({
      method: 'PUT',
      path: `/v1/nodes/${name}/states/provision`,
      body: JSON.stringify({ target: 'manage' }),
    });
    const names = machines.all.slice(0, mostManaged).map(({ name }) => name);
    await askAll(scene, names.map(verb));
    await scene.until(
      'all to be manageable',
      `select count(*) = ${names.length} from nodes where provision_state = 'manageable'`,
    );
    return names.length;
  });
  say(`manage a node: ${describeCost(managed.cost, managed.result)}; load ${await loadAverage()}`);
  await database.query("update nodes set provision_state = 'manageable' where provision_state = 'enroll'");
  return {
    create_statements: { value: round(nodes.cost.statements / count), unit: 'statements a node' },
    manage_statements: { value: round(managed.cost.statements / managed.result), unit: 'statements a node' },
    manage_s: { value: round(managed.cost.wall), unit: `s for ${managed.result}` },
  };
}

/** Measures one round of each conductor, after one that has found what all of them are. */
async function measurePowerSync(
  { say }: BenchContext,
  scene: FleetScene,
  name: string,
  task: string = powerTask,
): Promise<Record<string, Figure>> {
  const { machines, database } = scene;
  const living = await machines.mark();
  await roundsOf(scene, task);
  await machines.mark();
  await database.query('select pg_stat_statements_reset()');
  const { result: seconds, cost } = await scene.spent(() => roundsOf(scene, task));
  const asked = await machines.asked();
  say(
    `${name}: ${round(seconds)} s, ${asked} of ${living} asked; ${describeCost(cost, living)}; load ${await loadAverage()}`,
  );
  for (const line of await heaviest(database, 5)) say(`  ${line}`);
  return {
    [`${name}_s`]: { value: round(seconds), unit: 's' },
    // a round's time and what lies between two
    [`${name}_cores`]: { value: round(cost.conductors / seconds, 2), unit: 'cores, all conductors' },
    [`${name}_statements`]: { value: round(cost.statements / living, 2), unit: 'statements a node' },
  };
}

/** Waits for the end of a round of each conductor that begins from now on. @returns seconds of the longest */
async function roundsOf({ conductors }: FleetScene, task: string): Promise<number> {
  const each = await Promise.all(
    conductors.map(async ({ url }) => {
      const first = await taskTimes(url, task);
      // what is under way now has begun before
      const under = await until(url, task, first.count + 1);
      const next = await until(url, task, under.count + 1);
      return next.seconds - under.seconds;
    }),
  );
  return Math.max(...each);
}

interface TaskTimes {
  readonly count: number;
  readonly seconds: number;
}

async function until(url: string, task: string, count: number): Promise<TaskTimes> {
  for (;;) {
    const times = await taskTimes(url, task);
    if (times.count >= count) return times;
    await pause(lookEveryMs);
  }
}

/** Reads how often a background task has ended, and how long it took in all. */
async function taskTimes(url: string, task: string): Promise<TaskTimes> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const total = (suffix: string): number =>
    text
      .split('\n')
      .filter(
        (line) =>
          line.startsWith(`baton_background_task_duration_seconds_${suffix}{`) && line.includes(`task="${task}"`),
      )
      .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  return { count: total('count'), seconds: total('sum') };
}

async function measureDeadBmcs(
  context: BenchContext,
  scene: FleetScene,
  deadEvery: number,
): Promise<Record<string, Figure>> {
  const dead = await scene.machines.killEvery(deadEvery);
  if (dead === 0) return {};
  context.say(`${dead} BMCs are dead`);
  return measurePowerSync(context, scene, 'power_sync_dead');
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
