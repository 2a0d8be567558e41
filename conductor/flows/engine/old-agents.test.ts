import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { webhookDeliveries } from '#conductor/kernel/db/schema/webhook.ts';
import { silentLog } from '#shared/log.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { createOldAgent, type OldAgent } from '#test/simulators/node/old-agent.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { demoInstance, enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, isAtRest, type Operator } from '#test/support/operator.ts';

/** Whole flows of machines whose ramdisk has an agent without this or that extension. */

let conductor: ConductorInProcess;
let operator: Operator;
const machines: SimulatedNode[] = [];

const settings = { BATON_REQUIRE_AGENT_TLS: 'false', BATON_HEARTBEAT_TIMEOUT: '2' };

beforeAll(async () => {
  conductor = await startConductorInProcess({ log: silentLog, settings });
  operator = createOperator(conductor.url);
});
afterAll(async () => {
  for (const machine of machines) await machine.close();
  await conductor.close();
});

interface Stage {
  readonly name: string;
  readonly agent: OldAgent;
  readonly machine: SimulatedNode;
  /** Asks for a verb; answers the state in which the node then rests, and its last error. */
  readonly ask: (verb: string, more?: Record<string, unknown>) => Promise<{ state: unknown; error: string }>;
}

async function open(name: string, agent: OldAgent, { url } = conductor): Promise<Stage> {
  const operator = createOperator(url);
  const machine = await startSimulatedNode({
    conductorUrl: () => url,
    mac: `52:54:00:00:0a:${(machines.length + 16).toString(16)}`,
    plainHttp: true,
    startProxy: agent.startProxy,
    serviceSteps: [{ step: 'check' }],
  });
  machines.push(machine);
  await enrolSimulatedNode(operator, machine, name);
  const ask: Stage['ask'] = async (verb, more = {}) => {
    await operator.provision(name, verb, more);
    const node = await waitUntil(
      `${verb} to end`,
      async () => {
        const seen = await operator.node(name);
        return isAtRest(seen) ? seen : undefined;
      },
      { timeoutMs: 240_000, everyMs: 50 },
    );
    return { state: node['provision_state'], error: String(node['last_error']) };
  };
  return { name, agent, machine, ask };
}

const namesOf = ({ sent }: OldAgent): string[] => sent.map(({ name }) => name);
const setAutomatedClean = (name: string, value: boolean, at: Operator = operator) =>
  at.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/automated_clean', value }]);

describe.each([
  ['deploy', ['deploy']],
  ['clean', ['clean']],
  ['service', ['service']],
  ['rescue', ['rescue']],
  ['all of them', ['deploy', 'clean', 'service', 'rescue']],
])('an agent without %s', (what, lacks) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await open(`lacks-${what.replaceAll(' ', '-')}`, await createOldAgent(lacks));
  });

  test('is inspected', async () => {
    await stage.ask('manage');
    expect(await stage.ask('inspect')).toMatchObject({ state: 'manageable', error: 'null' });
  });

  test('is cleaned by the steps that it has', async () => {
    await setAutomatedClean(stage.name, true);
    expect(await stage.ask('provide')).toMatchObject({ state: 'available', error: 'null' });
    expect(stage.machine.disk).toEqual(lacks.includes('clean') ? [] : ['erase_devices_metadata']);
    await setAutomatedClean(stage.name, false);
  });

  test('deploys, with a config drive', async () => {
    const configdrive = { meta_data: { hostname: 'one' } };
    const before = stage.machine.disk.length;
    expect(await stage.ask('active', { configdrive })).toMatchObject({ state: 'active', error: 'null' });
    expect(stage.machine.state()).toEqual({ power: 'on', runs: 'instance' });
    const isOld = lacks.includes('deploy');
    const byItself = ['prepare_disks', 'write_image demo.raw with config drive', 'tune_image'];
    expect(stage.machine.disk.slice(before)).toEqual(isOld ? [] : byItself);
    expect(namesOf(stage.agent).filter((name) => /prepare_image|execute_deploy/.test(name))).toEqual(
      isOld ? ['standby.prepare_image'] : byItself.map(() => 'deploy.execute_deploy_step'),
    );
    const prepared = {
      image_info: expect.objectContaining({
        id: 'demo.raw',
        urls: [demoInstance.image_source],
        os_hash_algo: 'sha256',
        os_hash_value: demoInstance.image_os_hash_value,
      }) as unknown,
      configdrive: expect.stringMatching(/^H4sI/) as unknown,
    };
    expect(stage.agent.sent.find(({ name }) => name === 'standby.prepare_image')?.params).toEqual(
      isOld ? prepared : undefined,
    );
  });

  test('is serviced by the conductor’s steps, and by its own if it has any', async () => {
    const reboot = { interface: 'power', step: 'reboot' };
    expect(await stage.ask('service', { service_steps: [reboot] })).toMatchObject({ state: 'active' });
    const check = { interface: 'deploy', step: 'check' };
    const serviced = await stage.ask('service', { service_steps: [check] });
    const lacking = lacks.includes('service');
    expect(serviced.state).toBe(lacking ? 'service failed' : 'active');
    const refusal = 'no step deploy.check: neither the conductor nor the agent has it';
    expect(serviced.error).toMatch(lacking ? new RegExp(refusal) : /^null$/);
    if (serviced.state !== 'service failed') return;
    await stage.ask('abort');
    await operator.call('DELETE', `/v1/nodes/${stage.name}/maintenance`);
  });

  test('is rescued only if it can set a password', async () => {
    const rescued = await stage.ask('rescue', { rescue_password: 'a-password-of-some-length' });
    const lacking = lacks.includes('rescue');
    expect(rescued.state).toBe(lacking ? 'rescue failed' : 'rescue');
    expect(rescued.error).toMatch(lacking ? /Extension with id rescue not found/ : /^null$/);
  });
});

/** Texts of the node's history that say how cleanings have ended, with their severity. */
async function endsOfCleanings(name: string): Promise<string[]> {
  const { history } = (await operator.call('GET', `/v1/nodes/${name}/history?detail=true`)) as unknown as {
    history: { severity: string; event: string }[];
  };
  return history
    .filter(({ event }) => /^(clean|wipe) /.test(event))
    .map(({ severity, event }) => `${severity} ${event}`);
}

const nothingErased =
  /^ERROR clean succeeded after \d+ s: nothing was erased by the agent, which has no extension clean: the ramdisk is too old/;

test('a cleaning that could erase nothing says so in the history, the event and the plan', async () => {
  const { name, machine, ask } = await open('erases-nothing', await createOldAgent(['clean']));
  const hook = { url: 'http://127.0.0.1:1/', events: ['node.flow_succeeded'] };
  await operator.call('POST', '/v1/webhooks', { name: 'hook', ...hook });
  await ask('manage');
  await setAutomatedClean(name, true);
  expect(await ask('provide')).toMatchObject({ state: 'available' });
  expect(machine.disk).toEqual([]);
  expect(await endsOfCleanings(name)).toEqual([expect.stringMatching(nothingErased)]);
  const sent = await conductor.context().db.select({ body: webhookDeliveries.body }).from(webhookDeliveries);
  expect(sent.map(({ body }) => body)).toContainEqual(
    expect.objectContaining({
      data: expect.objectContaining({
        kind: 'clean',
        warning: expect.stringMatching(/^nothing was erased/) as unknown,
      }) as unknown,
    }),
  );
  await ask('manage');
  const plan = await operator.call('POST', `/v1/nodes/${name}/plan`, { target: 'provide' });
  expect(plan).toMatchObject({
    warnings: expect.arrayContaining(['The agent has no clean steps: it erases nothing.']) as unknown,
  });
});

test('a cleaning that was asked by name to erase, and can’t, fails', async () => {
  const strict = await startConductorInProcess({
    log: silentLog,
    settings: { ...settings, BATON_CLEAN_STEP_PRIORITIES: 'deploy.erase_devices:10,deploy.erase_devices_metadata:0' },
  });
  try {
    const { name, machine, ask } = await open('asked-to-erase', await createOldAgent(['clean']), strict);
    await ask('manage');
    await setAutomatedClean(name, true, createOperator(strict.url));
    expect(await ask('provide')).toMatchObject({
      state: 'clean failed',
      error: expect.stringContaining(
        'nothing was erased: BATON_CLEAN_STEP_PRIORITIES asks for deploy.erase_devices, and the agent has no extension clean',
      ) as unknown,
    });
    expect(machine.disk).toEqual([]);
    const whole = await open('asked-to-erase-and-can', await createOldAgent(['service']), strict);
    await whole.ask('manage');
    await setAutomatedClean(whole.name, true, createOperator(strict.url));
    expect(await whole.ask('provide')).toMatchObject({ state: 'available' });
  } finally {
    await strict.close();
  }
});

test('one that could erase says nothing of it', async () => {
  const { name, ask } = await open('erases', await createOldAgent(['service']));
  await ask('manage');
  await setAutomatedClean(name, true);
  expect(await ask('provide')).toMatchObject({ state: 'available' });
  expect(await endsOfCleanings(name)).toEqual([expect.stringMatching(/^INFO clean succeeded after \d+ s$/)]);
});

test('an old agent is told where the partitions are that it has just written', async () => {
  const { name, agent, ask } = await open('partitions', await createOldAgent(['deploy']));
  const image = { image_type: 'partition', root_gb: 5, image_checksum: 'a'.repeat(64) };
  await operator.call('PATCH', `/v1/nodes/${name}`, [
    { op: 'add', path: '/instance_info', value: { image_source: demoInstance.image_source, ...image } },
  ]);
  expect(await ask('active')).toMatchObject({ state: 'active', error: 'null' });
  const sent = Object.fromEntries(agent.sent.map((each) => [each.name, each.params]));
  // it would take the digest for an MD5
  expect(sent['standby.prepare_image']?.['image_info']).toMatchObject({ os_hash_algo: 'sha256' });
  expect(sent['image.install_bootloader']).toMatchObject({ root_uuid: '0x1d2c3b4a', target_boot_mode: 'bios' });
});

test('a conductor that dies while an old agent writes asks for the write, and begins no second one', async () => {
  const { agent, ask } = await open('dies-amid-write', await createOldAgent(['deploy']));
  const before = conductor.deaths();
  conductor.atCheckpoints((checkpoint) => {
    const isSent = agent.sent.at(-1)?.name === 'standby.prepare_image';
    return checkpoint === 'acted' && isSent && conductor.deaths() === before ? 'die' : 'go on';
  });
  expect(await ask('active')).toMatchObject({ state: 'active', error: 'null' });
  conductor.atCheckpoints(() => 'go on');
  expect(conductor.deaths() - before).toBe(1);
  expect(namesOf(agent).filter((name) => name === 'standby.prepare_image')).toHaveLength(1);
});

test('an agent that can’t write an image at all is inspected and cleaned, and its deploy refused in words', async () => {
  const { name, machine, ask } = await open('writes-nothing', await createOldAgent(['deploy', 'clean', 'standby']));
  await ask('manage');
  expect(await ask('inspect')).toMatchObject({ state: 'manageable', error: 'null' });
  await setAutomatedClean(name, true);
  expect(await ask('provide')).toMatchObject({ state: 'available', error: 'null' });
  const refused = await ask('active');
  expect(refused).toMatchObject({ state: 'deploy failed' });
  expect(refused.error).toContain('nothing was written: the ramdisk is too old, or was built without it');
  expect(machine.disk).toEqual([]);
});

test('a step that the old agent does not have is refused before anything is written', async () => {
  const { agent, ask } = await open('asked-for-more', await createOldAgent(['deploy']));
  const deploySteps = [{ interface: 'deploy', step: 'prepare_disks', priority: 90, args: {} }];
  const refused = await ask('active', { deploy_steps: deploySteps });
  expect(refused).toMatchObject({ state: 'deploy failed' });
  expect(refused.error).toContain('no step deploy.prepare_disks: neither the conductor nor the agent has it');
  expect(namesOf(agent)).not.toContain('standby.prepare_image');
});

test('an agent without the extension clean wipes nothing: the machine is not given away, and no receipt is signed', async () => {
  const { name, machine, ask } = await open('wipes-nothing', await createOldAgent(['clean']));
  await ask('manage');
  await setAutomatedClean(name, false);
  expect(await ask('provide')).toMatchObject({ state: 'available' });
  expect(await ask('active')).toMatchObject({ state: 'active' });
  const written = machine.disk.length;
  const wiped = await ask('deleted', { wipe: {} });
  expect(wiped).toMatchObject({ state: 'clean failed' });
  expect(wiped.error).toContain("nothing was touched: the agent's step deploy.erase_devices is missing");
  expect(machine.disk.slice(written)).toEqual([]);
  expect(await operator.call('GET', `/api/v1.0/receipts?node=${name}`)).toMatchObject({ receipts: [] });
});

describe('an agent whose hardware manager fails with a KeyError', () => {
  test('has clean steps that nobody knows: the machine does not count as cleaned', async () => {
    const { name, machine, ask } = await open('key-error-clean', await createOldAgent([], ['clean']));
    await ask('manage');
    await setAutomatedClean(name, true);
    const cleaned = await ask('provide');
    expect(cleaned).toMatchObject({ state: 'clean failed' });
    expect(cleaned.error).toContain('the agent has the extension clean, whose command fails there');
    expect(machine.disk).toEqual([]);
  });

  test('in a list that the flow does not need, is no failure of the flow', async () => {
    const { ask } = await open('key-error-service', await createOldAgent([], ['service', 'clean']));
    await ask('manage');
    expect(await ask('inspect')).toMatchObject({ state: 'manageable', error: 'null' });
  });
});
