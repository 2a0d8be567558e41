import { sql } from 'drizzle-orm';
import { syncPower } from '#conductor/flows/background/sync-power.ts';
import type { SimulatedNode } from '#test/simulators/node/simulated-node.ts';
import type { Fault } from '#test/simulators/redfish/faults.ts';
import type { ConductorInProcess } from '#test/support/conductor-in-process.ts';
import type { Draw } from '#test/support/draw.ts';
import { drawLostAnswer, drawWork, type KindOfWork } from '#test/support/drawn-work.ts';
import { demoInstance } from '#test/support/enrol.ts';
import { isAtRest, type Operator } from '#test/support/operator.ts';
import { waitUntil } from '#test/support/step-node.ts';

/**
 * Draws what may happen while a machine must not lose power: what a BMC answers, what operators ask for, and what
 * becomes of conductors.
 */

/** A node that is at work in one schedule after the other. */
export interface FlashedNode {
  readonly name: string;
  readonly machine: SimulatedNode;
}

export interface FlashStage {
  readonly conductor: ConductorInProcess;
  /** Tries again while a conductor is at the node. */
  readonly operator: Operator;
  /** Takes no for an answer. */
  readonly hasty: Operator;
  /** The conductor dies at its next checkpoint, or the step fails that has acted there. */
  strike(blow: 'die' | 'fail'): void;
}

const bodies: readonly unknown[] = [
  '<html><body>Please wait</body></html>',
  '',
  {},
  { error: { code: 'Base.1.8.GeneralError', message: 'A general error has occurred.' } },
  { error: { code: 'IDRAC.2.8.SYS518', message: 'iDRAC is not ready.' } },
  [],
  '0',
  { '@odata.context': '/redfish/v1/$metadata#Task', error: { code: 'Base.1.8.GeneralError', message: 'Failed.' } },
  {
    '@odata.id': '/redfish/v1/TaskService/Tasks/1',
    '@odata.type': '#Task.v1_4_3.Task',
    error: { code: 'Base.1.8.InternalError' },
  },
  { '@odata.id': '/redfish/v1/TaskService/Tasks/1', Id: '1', Name: 'Task 1', TaskState: null, PercentComplete: 35 },
  {
    '@odata.id': '/redfish/v1/Systems/1/Bios',
    '@odata.type': '#Bios.v1_1_0.Bios',
    error: { code: 'Base.1.8.InternalError' },
  },
  { status: 503, message: 'Service Unavailable' },
  { cc: 7, error: 'Invalid Authentication' },
  { errors: [{ status: 503, title: 'Service Unavailable' }] },
  { '@odata.id': '/redfish/v1/TaskService/Tasks/1', Id: '1', Name: 'Task 1', TaskState: 4 },
  { '@odata.id': '/redfish/v1/', '@odata.type': '#ServiceRoot.v1_5_0.ServiceRoot', Id: 'RootService', Name: 'Root' },
  {
    error: {
      code: 'Base.1.8.GeneralError',
      '@Message.ExtendedInfo': [{ MessageId: 'Base.1.8.Success' }, { MessageId: 'Base.1.8.InternalError' }],
    },
  },
];
const anything = /./;
const places = [
  anything,
  /TaskService/,
  /Storage/,
  /Bios/,
  /UpdateService/,
  /FirmwareInventory/,
  /Systems/,
  /Managers/,
  /Sessions/,
];

/** Draws what a BMC answers that restarts, or is too busy. */
function drawFault(draw: Draw): Fault {
  const path = draw.of(places);
  const times = 1 + draw.number(12);
  if (draw.number(4) === 0) return { path, times, ...draw.of([{ drop: true }, { cutBody: true }]) };
  if (draw.number(8) === 0) return { path, times, method: 'GET', status: 302, headers: { Location: '/redfish/v1/' } };
  if (draw.number(12) === 0) return { path, times, method: 'GET', status: 304 };
  const status = draw.of([200, 200, 201, 203, 401, 403, 404, 409, 429, 500, 502, 503, 504]);
  // what it has been asked for it takes or refuses; only that may be lost
  const method = status < 300 || status === 409 ? { method: 'GET' } : {};
  return { path, times, status, body: draw.of(bodies), ...method };
}

type Happening = readonly [name: string, happens: () => Promise<unknown>];

function happenings(stage: FlashStage, { name, machine }: FlashedNode, draw: Draw): readonly Happening[] {
  const { hasty: operator, conductor } = stage;
  const provision = (verb: string) => () => operator.provision(name, verb);
  const power = (target: string) => () => operator.call('PUT', `/v1/nodes/${name}/states/power`, { target });
  const fault = drawFault(draw);
  const now = (act: () => void) => () => Promise.resolve(act());
  const answers: Happening = [
    `the BMC answers ${JSON.stringify({ ...fault, path: String(fault.path) })}`,
    now(() => machine.bmc.inject(fault)),
  ];
  return [
    answers,
    answers,
    answers,
    ['the BMC restarts', now(() => machine.bmc.restart())],
    ['the BMC forgets its sessions', now(() => machine.bmc.dropSessions())],
    ['the BMC answers again', now(() => machine.bmc.clearFaults())],
    ['a conductor dies', now(() => stage.strike('die'))],
    ['a step fails by a fault of the program', now(() => stage.strike('fail'))],
    ['abort', provision('abort')],
    ['deleted', provision('deleted')],
    ['manage', provision('manage')],
    ['power off', power('power off')],
    ['power on', power('power on')],
    ['rebooting', power('rebooting')],
    ['soft power off', power('soft power off')],
    ['maintenance', () => operator.call('PUT', `/v1/nodes/${name}/maintenance`, {})],
    ['maintenance off', () => operator.call('DELETE', `/v1/nodes/${name}/maintenance`)],
    ['power is read', () => syncPower(conductor.context(), new AbortController().signal)],
  ];
}

/**
 * Begins work, lets a drawn number of things happen while the machine is at it, then lets all end.
 * @returns what happened, in order
 */
export async function runSchedule(
  stage: FlashStage,
  node: FlashedNode,
  { kind, draw }: { readonly kind: KindOfWork; readonly draw: Draw },
): Promise<readonly string[]> {
  const { operator } = stage;
  const { name, machine } = node;
  const work = await drawWork(kind, draw, { operator, name, machine });
  const { step, inDeploy } = work;
  await bringTo(stage, node, inDeploy ? 'available' : 'manageable');
  const done = Promise.withResolvers<void>();
  work.begin(done.promise);
  const story = [`${JSON.stringify(step)} amid a ${inDeploy ? 'deploy' : 'cleaning'}`];
  try {
    if (draw.number(5) === 0) {
      const fault = drawLostAnswer(draw, work);
      machine.bmc.inject(fault);
      story.push(`the answer to ${fault.method ?? ''} is lost: ${fault.actsAs ?? 'cut'}`);
    }
    const before = machine.bmc.requests.length;
    if (inDeploy) {
      // an undeploy has forgotten it
      await operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/instance_info', value: demoInstance }]);
      await operator.provision(name, 'active', { deploy_steps: [{ args: {}, ...step, priority: draw.of([90, 110]) }] });
    } else await operator.provision(name, 'clean', { clean_steps: [step], disable_ramdisk: work.disableRamdisk });
    const begun = waitUntil(`${name} to be asked for it`, async () => {
      const asked = machine.bmc.requests.slice(before);
      const isAsked = asked.some(({ method, path }) => method !== 'GET' && work.asks.test(path));
      // another schedule's blow may have struck this one before it
      return isAsked || (await isAtStep(stage, name, step)) || isAtRest(await operator.node(name)) || undefined;
    });
    await reportFailure(stage, name, { story, wait: begun });
    for (let left = 2 + draw.number(5); left > 0; left -= 1) {
      const [what, happens] = draw.of(happenings(stage, node, draw));
      const came = await happens().then(
        () => '',
        () => ' (refused)',
      );
      story.push(`${what}${came}`);
      const looks = draw.number(3);
      for (let look = 0; look < looks; look += 1) await lookNow(stage, name);
    }
  } finally {
    machine.bmc.clearFaults();
    done.resolve();
    work.end();
  }
  await reportFailure(stage, name, { story, wait: settle(stage, node) });
  return story;
}

/** A failure's message says what has happened, and where the node is. */
async function reportFailure(
  { operator }: FlashStage,
  name: string,
  { story, wait }: { readonly story: readonly string[]; readonly wait: Promise<unknown> },
): Promise<void> {
  await wait.catch(async (cause: unknown) => {
    const node = await operator.node(name);
    const flow = await operator.call('GET', `/v1/nodes/${name}/flow`);
    throw new Error(`${story.join('; ')}: ${JSON.stringify({ flow, node })}`, { cause });
  });
}

/**
 * An agent's step runs, a step of the BMC waits for what it has begun, or it has ended: struck by another schedule's blow,
 * after which its flow rests only when the machine may lose power.
 */
async function isAtStep(
  { operator }: FlashStage,
  name: string,
  { step: wanted }: Readonly<Record<string, unknown>>,
): Promise<boolean> {
  const { steps } = (await operator.call('GET', `/v1/nodes/${name}/flow`)) as {
    steps: readonly { step: string; state: string }[];
  };
  return steps.some(({ step, state }) => step === wanted && !['pending', 'running'].includes(state));
}

export async function lookNow({ hasty }: FlashStage, name: string): Promise<void> {
  await hasty.call('POST', `/v1/nodes/${name}/flow/retry`).catch(() => undefined);
}

/** Nothing is written any more, and nobody has to wait for it. */
export async function settle(stage: FlashStage, { name, machine }: FlashedNode): Promise<void> {
  const { operator, hasty, conductor } = stage;
  let withoutRamdisk = 0;
  await waitUntil(`${name} to rest`, async () => {
    await hasty.call('DELETE', `/v1/nodes/${name}/maintenance`).catch(() => undefined);
    const { db } = conductor.context();
    await db
      .execute(
        sql`update nodes set power_hold = jsonb_set(power_hold, '{until}', '"1970-01-01T00:00:00.000Z"')
            where power_hold is not null and name = ${name}`,
      )
      .catch(() => undefined);
    await db
      .execute(
        sql`update flow_steps set output = jsonb_set(output, '{updates}', coalesce((
              select jsonb_agg(case when each->'lostSince' = 'null' then each else each || '{"lostSince": 0}' end)
              from jsonb_array_elements(output->'updates') each), '[]'))
            where state <> 'succeeded' and jsonb_typeof(output->'updates') = 'array'
              and flow_uuid in (select flows.uuid from flows join nodes on nodes.uuid = node_uuid where name = ${name})`,
      )
      .catch(() => undefined);
    await lookNow(stage, name);
    // a person's reboot has taken the one boot from the network: the ramdisk never comes, and a person ends the flow
    withoutRamdisk = machine.state().runs === 'ramdisk' ? 0 : withoutRamdisk + 1;
    if (withoutRamdisk > 100) await hasty.provision(name, 'abort').catch(() => undefined);
    return isAtRest(await operator.node(name)) || undefined;
  });
}

const onward: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  manageable: { available: 'manage', active: 'deleted', 'deploy failed': 'deleted', error: 'deleted' },
  available: { manageable: 'provide', active: 'deleted', 'deploy failed': 'deleted', error: 'deleted' },
};

/** From wherever the schedule before has left it. */
export async function bringTo(stage: FlashStage, node: FlashedNode, state: 'manageable' | 'available'): Promise<void> {
  const { operator } = stage;
  const { name } = node;
  for (;;) {
    await operator.call('DELETE', `/v1/nodes/${name}/maintenance`).catch(() => undefined);
    const now = String((await operator.node(name))['provision_state']);
    if (now === state) break;
    await operator.provision(name, onward[state]?.[now] ?? 'manage');
    await settle(stage, node);
  }
  // what is off can't be switched off
  await operator.call('PUT', `/v1/nodes/${name}/states/power`, { target: 'power on' });
  await waitUntil(`${name} to be on`, async () => {
    const { power_state: power, reservation } = await operator.node(name);
    return (power === 'power on' && reservation === null) || undefined;
  });
}
