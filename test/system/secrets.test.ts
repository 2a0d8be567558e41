import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { flowSteps, flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { openStepArgs } from '#conductor/kernel/secrets/node-secrets.ts';
import { createSecrets } from '#conductor/kernel/secrets/secrets.ts';
import { findCollection } from '#conductor/sites/revisions/compare-versions.ts';
import { openText } from '#conductor/sites/revisions/encrypted-documents.ts';
import { sealStoredSecrets } from '#conductor/start/seal-stored.ts';
import { createLog } from '#shared/log.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { createCanaries, dumpDatabase } from '#test/support/canaries.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { demoInstance, enrolSimulatedNode } from '#test/support/enrol.ts';
import { everyGetPath } from '#test/support/every-get-path.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { createSiteOperator } from '#test/support/site-operator.ts';
import { testSecrets } from '#test/support/test-secrets.ts';
import { textOf } from '#test/support/text-of.ts';

/**
 * The proof that secrets stay secret: unique words in every place where one can be given, flows that use them and flows
 * that fail with them, and then none of the words in the database, the log, or an answer.
 */

const { canary, found } = createCanaries();
const words = {
  bmc: canary('redfish_password'),
  otherBmc: canary('redfish_password of a BMC that refuses it'),
  ipmi: canary('ipmi_password'),
  fake: canary('a token in driver_info'),
  proxy: canary('a login in a URL of driver_info'),
  image: canary('a login in image_source'),
  pull: canary('image_pull_secret'),
  drive: canary('a login in the URL of a config drive'),
  patchedDrive: canary('instance_info.configdrive'),
  file: canary('the content of an injected file'),
  step: canary('an argument of an in-band step'),
  bios: canary('a BIOS password'),
  longBios: `${canary('a BIOS password that is too long')}${'x'.repeat(40)}`,
  template: canary('an argument in a template'),
  chap: canary('auth_password of a volume'),
  rescue: canary('rescue_password'),
  credential: canary('the password of a credential'),
  oldCredential: canary('the password that a credential had'),
  passphrase: canary('an encrypted document'),
  broken: canary('a password in a body that is not JSON'),
};

/** A site whose BMC's password and user data come of an encrypted document. */
const siteWithPassphrase = (mac: string, bmc: string): string => `
schema: deckhand/Passphrase/v1
metadata: {schema: metadata/Document/v1, name: bmc, storagePolicy: encrypted}
data: ${words.passphrase}
---
schema: drydock/BaremetalNode/v1
metadata:
  schema: metadata/Document/v1
  name: of-a-site
  substitutions:
    - src: {schema: deckhand/Passphrase/v1, name: bmc, path: .}
      dest: [{path: .oob.credential}, {path: .config_drive.user_data, pattern: PASSWORD}]
data:
  oob: {type: redfish, address: '${bmc}', account: admin}
  boot_mode: bios
  interfaces: {eth0: {mac: '${mac}'}}
  config_drive: {user_data: 'echo root:PASSWORD | chpasswd'}
  platform: {image: 'http://images.example/demo.raw', checksum: 'sha256:${'0'.repeat(64)}'}
`;

const lines: string[] = [];
const answers: string[] = [];
let conductor: ConductorInProcess;
let operator: Operator;
let machine: SimulatedNode;
let siteMachine: SimulatedNode;
let siteAction: string;
let toolFolder: string;

/** Says what it was told, as no ipmitool should, in the words of one whose password was refused. */
const badIpmitool = '#!/bin/sh\necho "RAKP 2 HMAC is invalid: password $IPMI_PASSWORD" >&2\nexit 1\n';

beforeAll(async () => {
  toolFolder = await mkdtemp(join(tmpdir(), 'baton-secrets-'));
  await writeFile(join(toolFolder, 'ipmitool'), badIpmitool);
  await chmod(join(toolFolder, 'ipmitool'), 0o755);
  vi.stubEnv('PATH', `${toolFolder}${delimiter}${process.env['PATH'] ?? ''}`);
  const log = createLog({ component: 'conductor', level: 'trace', only: { write: (line) => void lines.push(line) } });
  conductor = await startConductorInProcess({ log, settings: { BATON_RAMDISK_DIR: toolFolder } });
  operator = createOperator(conductor.url);
  machine = await startSimulatedNode({
    conductorUrl: () => conductor.url,
    mac: '52:54:00:00:04:01',
    bmcPassword: words.bmc,
    deploySteps: { revealing: 0 },
  });
  siteMachine = await startSimulatedNode({
    conductorUrl: () => conductor.url,
    mac: '52:54:00:00:04:02',
    bmcPassword: words.passphrase,
  });
});

afterAll(async () => {
  await machine.close();
  await siteMachine.close();
  await conductor.close();
  vi.unstubAllEnvs();
  await rm(toolFolder, { recursive: true });
});

/** Whatever it answers is looked through. */
async function ask(method: string, path: string, body?: unknown): Promise<number> {
  const answer = await fetch(`${conductor.url}${path}`, {
    method,
    headers: { 'X-OpenStack-Ironic-API-Version': '1.96', 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  answers.push(`${method} ${path}: ${await textOf(answer)}`);
  return answer.status;
}

const nodeWithPassword = `schema: drydock/BaremetalNode/v1
metadata: {name: n1}
data: {oob: {type: redfish, account: root, password: ${words.broken}, credential: "${words.broken}!"}}`;
const biosStep = (value: string, name = 'SetupPassword') => ({
  interface: 'bios',
  step: 'apply_configuration',
  priority: 80,
  args: { settings: [{ name, value }] },
});
const revealingStep = { interface: 'deploy', step: 'revealing', priority: 60, args: { password: words.step } };
const dumps: string[] = [];

async function enrolAll(): Promise<void> {
  await enrolSimulatedNode(operator, machine, 'redfish', {
    driver_info: { ...machine.driverInfo, image_https_proxy: `http://me:${words.proxy}@proxy:3128` },
    properties: {
      capabilities: 'boot_mode:bios',
      inject_files: [{ path: '/etc/key', content: words.file }],
    },
    instance_info: {
      ...demoInstance,
      image_source: `http://me:${words.image}@images.example/demo.raw`,
      image_pull_secret: words.pull,
      traits: ['CUSTOM_TELLING'],
    },
  });
  await ask('PUT', '/v1/nodes/redfish/traits', { traits: ['CUSTOM_TELLING'] });
  const second = { ...machine.driverInfo, redfish_password: words.otherBmc };
  await ask('POST', '/v1/nodes', { name: 'refused', driver: 'redfish', driver_info: second });
  await ask('POST', '/v1/nodes', {
    name: 'ipmi',
    driver: 'ipmi',
    driver_info: { ipmi_address: '127.0.0.1', ipmi_username: 'admin', ipmi_password: words.ipmi },
    instance_info: { configdrive: `http://me:${words.patchedDrive}@drives.example/c` },
  });
  await ask('POST', '/v1/nodes', {
    name: 'fake',
    driver: 'fake-hardware',
    driver_info: { agent_some_token: words.fake },
  });
  const { uuid } = await operator.node('fake');
  expect(
    await ask('POST', '/v1/volume/targets', {
      node_uuid: uuid,
      volume_type: 'iscsi',
      volume_id: 'v',
      boot_index: 0,
      properties: {
        target_portal: '10.0.0.1:3260',
        target_iqn: 'iqn.a',
        auth_username: 'u',
        auth_password: words.chap,
      },
    }),
  ).toBe(201);
  expect(
    await ask('POST', '/v1/deploy_templates', {
      name: 'CUSTOM_TELLING',
      steps: [{ interface: 'deploy', step: 'revealing', priority: 50, args: { password: words.template } }],
    }),
  ).toBe(201);
}

async function storeCredential(): Promise<void> {
  const path = '/api/v1.0/credentials/rack-bmc';
  expect(await ask('PUT', path, { username: 'admin', password: words.oldCredential })).toBe(201);
  expect(await ask('PUT', path, { username: 'admin', password: words.credential })).toBe(200);
}

async function deploySite(): Promise<void> {
  const site = createSiteOperator(conductor.url);
  const { mac, bmc } = siteMachine;
  await site.commit('site', siteWithPassphrase(mac, bmc.address));
  siteAction = await site.createAction('deploy_site');
  expect(await site.waitForEnd(siteAction)).toMatchObject({ action_lifecycle: 'Complete' });
  expect(siteMachine.disk).toContain('write_image demo.raw with config drive');
}

const waitFor = (state: string) => operator.waitForState('redfish', state);

describe('words that nobody may see', () => {
  test('are used, and repeated by BMCs and agents that fail', async () => {
    await enrolAll();
    await storeCredential();
    await deploySite();
    const steps = [biosStep(words.bios), revealingStep];
    expect(await ask('POST', '/v1/nodes/redfish/plan', { target: 'active', deploy_steps: steps })).toBe(200);
    expect(await ask('POST', '/v1/nodes/redfish/plan', { target: 'active' })).toBe(200);

    // the BMC refuses the setting in so many words
    const repeats = `SetupPassword ${words.bios} is weak, asked by ${words.bmc}`;
    machine.bmc.inject({ method: 'PATCH', path: /Bios/, status: 400, body: { error: { message: repeats } } });
    const drive = `http://me:${words.drive}@drives.example/c`;
    const deploy = { target: 'active', deploy_steps: steps, configdrive: drive };
    expect(await ask('PUT', '/v1/nodes/redfish/states/provision', deploy)).toBe(202);
    const first = await waitFor('deploy failed');
    expect(first['last_error']).toContain('SetupPassword ****** is weak, asked by ******');

    // the agent fails with the argument, and with what else it was told
    dumps.push(...(await dumpDatabase(conductor.context().db)));
    const message = `${words.step} and ${words.image} and ${words.file} and ${words.pull} are no good`;
    machine.faults.failStep = { step: 'revealing', message, once: true };
    await ask('PUT', '/v1/nodes/redfish/states/provision', { ...deploy, deploy_steps: [revealingStep] });
    const second = await waitFor('deploy failed');
    expect(second['last_error']).toContain('****** and ****** and ****** and ****** are no good');

    // with the template's argument it works; the rescuer's password is a hash from then on
    await ask('PUT', '/v1/nodes/redfish/states/provision', { target: 'rebuild' });
    await waitUntil('the agent', async () => (machine.state().runs === 'ramdisk' ? true : undefined), {
      everyMs: 20,
    });
    dumps.push(...(await dumpDatabase(conductor.context().db)));
    await waitFor('active');
    expect(machine.disk).toContain('write_image demo.raw with config drive');
    const rescue = { target: 'rescue', rescue_password: words.rescue };
    expect(await ask('PUT', '/v1/nodes/redfish/states/provision', rescue)).toBe(202);
    await waitFor('rescue');

    for (const name of ['refused', 'ipmi']) {
      const echo = { error: { message: `login with ${words.otherBmc} failed` } };
      machine.bmc.inject({ method: 'POST', path: /Sessions/, status: 401, body: echo, times: 9 });
      await ask('PUT', `/v1/nodes/${name}/states/provision`, { target: 'manage' });
      const node = await operator.waitForState(name, 'enroll');
      expect(node['last_error']).toMatch(/\*{6}/);
      await ask('PUT', `/v1/nodes/${name}/states/power`, { target: 'power on' });
      await ask('GET', `/v1/nodes/${name}/management/boot_device`);
      await ask('GET', `/v1/nodes/validate?node=${name}`);
    }
  });

  test('nor are they in the answers to bad requests', async () => {
    const planWith = (step: ReturnType<typeof biosStep>) => ({ target: 'active', deploy_steps: [step] });
    const bad: [string, string, unknown][] = [
      ['POST', '/v1/nodes', `{"driver": "fake-hardware", "driver_info": {"redfish_password": "${words.broken}"`],
      ['POST', '/v1/nodes', { driver: 'fake-hardware', driver_info: words.broken }],
      ['POST', '/v1/nodes', { driver: 'fake-hardware', driver_info: { redfish_password: `sealed:${words.broken}` } }],
      ['PATCH', '/v1/nodes/fake', [{ op: 'add', path: '/driver_info/agent_some_token/x', value: words.broken }]],
      ['PATCH', '/v1/nodes/fake', [{ op: 'add', path: '/driver_info', value: words.broken }]],
      ['PATCH', '/v1/nodes/fake', [{ op: 'test', path: '/driver_info/agent_some_token', value: words.broken }]],
      ['POST', '/v1/nodes/redfish/plan', planWith(biosStep(words.longBios, 'NoSuchPassword'))],
      ['PUT', '/v1/nodes/redfish/states/provision', { target: 'rescue', rescue_password: { a: words.broken } }],
      ['PUT', '/v1/nodes/fake/states/provision', { target: 'active', configdrive: `ftp://me:${words.broken}@h` }],
      ['POST', '/v1/volume/targets', { node_uuid: 'x', properties: { auth_password: words.broken } }],
      ['POST', '/v1/deploy_templates', { name: 'x', steps: [{ args: { password: words.broken } }] }],
      ['PUT', '/api/v1.0/credentials/x', `{"username": "u", "password": "${words.broken}"`],
      ['PUT', '/api/v1.0/credentials/x', { username: 'u', password: { a: words.broken } }],
      ['PUT', '/api/v1.0/credentials/x', { username: 'u', passwort: words.broken }],
      ['POST', '/api/v1.0/configdocs/x', nodeWithPassword],
    ];
    for (const [method, path, body] of bad) expect(await ask(method, path, body)).toBeGreaterThanOrEqual(400);
    expect(found(answers)).toEqual([]);
    // longer than the registry allows: the BMC decides
    expect(await ask('POST', '/v1/nodes/redfish/plan', planWith(biosStep(words.longBios)))).toBe(200);
    expect(answers.at(-1)).toContain('apply_configuration');
    expect(found(answers)).toEqual([]);
  });

  test('no answer has one', async () => {
    await askEverything();
    expect(answers.length).toBeGreaterThan(100);
    expect(answers.filter((answer) => answer.includes('******')).length).toBeGreaterThan(10);
    expect(found(answers)).toEqual([]);
  });

  test('no row has one, neither while they are used nor after', async () => {
    dumps.push(...(await dumpDatabase(conductor.context().db)));
    for (const table of ['agent_sessions: ', 'config_drives: ', 'site_credentials: ']) {
      const rows = dumps.filter((row) => row.startsWith(table));
      expect(rows.length).toBeGreaterThan(0);
      for (const row of rows) expect(row).toContain('sealed:v1:');
    }
    expect(found(dumps)).toEqual([]);
  });

  test('no log line has one, at the level trace', () => {
    expect(lines.length).toBeGreaterThan(50);
    expect(lines.some((line) => line.includes('******'))).toBe(true);
    expect(found(lines)).toEqual([]);
  });
});

/** Every GET route there is, of every node and thing. */
async function askEverything(): Promise<void> {
  const { paths } = await operator.call('GET', '/openapi.json');
  const known = new Map<string, readonly string[]>([
    ['node', ['redfish', 'ipmi', 'of-a-site']],
    ['action', [siteAction]],
    ['driver', ['redfish', 'ipmi']],
    ['template', ['CUSTOM_TELLING']],
    ['setting', ['SetupPassword']],
    ['credential', ['rack-bmc']],
    ['collection', ['site']],
    ['revision', ['1']],
    ['other', ['0']],
  ]);
  for (const path of everyGetPath(paths as Record<string, object>, known)) await ask('GET', path);
  for (const name of ['refused', 'fake']) {
    for (const what of ['', '/states', '/history', '/flow', '/volume']) await ask('GET', `/v1/nodes/${name}${what}`);
  }
  for (const list of ['nodes', 'ports', 'volume/targets', 'volume/connectors', 'deploy_templates']) {
    await ask('GET', `/v1/${list}?detail=true`);
  }
  const targets = await operator.call('GET', '/v1/volume/targets');
  for (const { uuid } of targets['targets'] as { uuid: string }[]) await ask('GET', `/v1/volume/targets/${uuid}`);
}

describe('rows of an earlier Baton, and of an older key', () => {
  const newKey = randomBytes(32);

  test('are sealed with the first key at start, once', async () => {
    const { db, log } = conductor.context();
    const uuid = crypto.randomUUID();
    const word = canary('a row in clear');
    const clear = { uuid, driver: 'fake-hardware', networkInterface: 'noop', provisionState: 'enroll' as const };
    await db.insert(nodes).values({ ...clear, driverInfo: { a_password: word } });
    const flowUuid = crypto.randomUUID();
    await db
      .insert(flows)
      .values({ uuid: flowUuid, nodeUuid: uuid, kind: 'clean', state: 'failed', endedAt: new Date() });
    const step = { flowUuid, phase: 'main', position: 1, interface: 'deploy', step: 'x', priority: 0 } as const;
    const args = { password: word };
    await db.insert(flowSteps).values({ ...step, uuid: flowUuid, args, origin: 'request', inBand: true });
    expect(found(await dumpDatabase(conductor.context().db)).length).toBe(2);
    const rotated = createSecrets([newKey, Buffer.alloc(32, 7)]);
    expect(await sealStoredSecrets({ db, log, secrets: rotated })).toBeGreaterThan(5);
    expect(await sealStoredSecrets({ db, log, secrets: rotated })).toBe(0);
    const dump = await dumpDatabase(conductor.context().db);
    expect(found(dump)).toEqual([]);
    // the first key is enough now, also for plans and the like that are long done
    expect(dump.join('\n')).not.toContain(testSecrets.prefix);
    const [row] = await db.select().from(flowSteps).where(eq(flowSteps.uuid, flowUuid));
    const content = await findCollection(db, 'site', 'committed');
    expect(openText(createSecrets([newKey]), content)).toContain(words.passphrase);
    expect(openStepArgs(createSecrets([newKey]), uuid, row?.args ?? {})).toEqual(args);
  });

  test('whose key is gone are told by key, node and field where they are used, not in lists', async () => {
    const { uuid } = await operator.node('ipmi');
    const place = `node ${String(uuid)} driver_info.ipmi_password`;
    expect(await ask('GET', '/v1/nodes/detail')).toBe(200);
    await ask('GET', '/v1/nodes/ipmi/validate');
    expect(answers.at(-1)).toContain(`${place} is sealed with key `);
    expect(await ask('PUT', '/v1/nodes/ipmi/states/power', { target: 'power on' })).toBe(400);
    expect(answers.at(-1)).toContain('which is not among the conductor');
    const before = lines.length;
    await sealStoredSecrets({ ...conductor.context(), secrets: testSecrets });
    // among what the conductor itself logs
    expect(lines.slice(before)).toContainEqual(expect.stringMatching(/"level":40.*secrets without their key/));
  });
});
