import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hash } from 'bcryptjs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { drivers as knownDrivers } from '#conductor/drivers/table/driver-table.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { createBaremetal } from '#test/support/baremetal.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { demoInstance } from '#test/support/enrol.ts';
import { batonProgram } from '#test/support/programs.ts';

/** Debian's real client libraries, openstacksdk and gophercloud, and how clients log in by HTTP basic, as with standalone Ironic. */

const user = 'ada';
const password = 'the analytical engine';
let conductor: ConductorInProcess;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-clients-'));
  const htpasswd = join(directory, 'htpasswd');
  await writeFile(htpasswd, `${user}:${await hash(password, 4)}\nron:${await hash('only looks', 4)}:reader\n`);
  conductor = await startConductorInProcess({
    log: silentLog,
    settings: { BATON_AUTH: 'http_basic', BATON_HTPASSWD_FILE: htpasswd },
  });
});
afterAll(async () => {
  await conductor.close();
  await rm(directory, { recursive: true });
});

const containing = (text: string) => expect.stringContaining(text) as unknown;

/** Runs a program that tells what it has seen as JSON lines, with a simulated machine of its own. */
async function watch(mac: string, start: (machine: SimulatedNode, seen: (line: string) => void) => Promise<unknown>) {
  const machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac, inspects: true });
  const seen: unknown[] = [];
  try {
    await start(machine, (line) => seen.push(JSON.parse(line)));
  } finally {
    await machine.close();
  }
  return seen;
}

test('openstacksdk: a machine from nothing to an instance and away again, and all that stands beside it', async () => {
  const mac = '52:54:00:00:07:01';
  const seen = await watch(mac, (machine, onStdoutLine) => {
    const given = {
      endpoint: conductor.url,
      auth: { auth_type: 'http_basic', username: user, password },
      driver_info: machine.driverInfo,
      mac,
      instance_info: demoInstance,
    };
    const program = join(import.meta.dirname, 'openstacksdk.py');
    return run('/usr/bin/python3', [program, JSON.stringify(given)], { timeoutMs: 300_000, onStdoutLine });
  });
  expect(seen).toEqual([
    ['created', ['sdk', 'redfish', 'enroll']],
    ['ports', [[mac, true]]],
    ['port', { rack: 7 }],
    ['managed', 'manageable'],
    ['inspected', ['manageable', ['inventory', 'plugin_data'], 'x86_64']],
    ['changed', [['CUSTOM_FAST'], { rack: 7 }, 'team-a']],
    ['maintenance', [true, 'new fan']],
    ['power', 'power off'],
    ['valid', [true, true]],
    ['invalid', containing('Validation failed for required interfaces')],
    ['allocated', ['active', [true, true, true]]],
    ['allocations', [['sdk-web', { app: 'web' }]]],
    ['no second', containing('no available nodes match the resource class sdk-gold')],
    ['deployed', ['active', 'power on']],
    ['in use', containing('409')],
    ['undeployed', ['available', null, null]],
    ['released', []],
    ['chassis', [true, containing('contains nodes')]],
    ['volumes', ['iqn.2026-11.example:sdk', ['v1']]],
    ['templates', [['CUSTOM_SDK', [expect.objectContaining({ priority: 150 })]]]],
    ['drivers', knownDrivers.map(({ name }) => name).sort()],
    ['conductors', [true]],
    ['paged', Array.from({ length: 7 }, (_, index) => `page-${index}`)],
    ['detailed', 7],
    ['gone', containing('Node sdk could not be found')],
  ]);
});

test('gophercloud: the same in the order of metal3', async () => {
  const mac = '52:54:00:00:07:02';
  const program = join(directory, 'gophercloud');
  await run('/usr/lib/go-1.19/bin/go', ['build', '-o', program, join(import.meta.dirname, 'gophercloud/main.go')], {
    // Debian's packages lie in a GOPATH; nothing is downloaded
    env: { GO111MODULE: 'off', GOPATH: '/usr/share/gocode', GOCACHE: join(directory, 'go-cache') },
    timeoutMs: 600_000,
  });
  const seen = await watch(mac, (machine, onStdoutLine) => {
    const given = { endpoint: conductor.url, user, password, driver_info: machine.driverInfo, mac };
    const input = JSON.stringify({ ...given, instance_info: demoInstance });
    return run(program, [], { input, timeoutMs: 300_000, onStdoutLine });
  });
  expect(seen).toEqual([
    ['stranger', true],
    ['version', 'v1'],
    ['drivers', 4],
    ['absent', true],
    ['interfaces', ['ipxe', 'redfish', 'redfish', 'redfish']],
    ['enrolled', ['metal3~host-0', 'enroll', 1]],
    ['rests', 'manageable'],
    ['rests', 'manageable'],
    ['patched', demoInstance.image_source],
    ['valid', [true, true]],
    ['rests', 'available'],
    ['allocation', ['active', true]],
    ['rests', 'active'],
    ['rebooted', 'power on'],
    ['rests', 'available'],
    ['pages', [3, 5]],
    ['gone', true],
  ]);
});

test('both command lines log in; a reader only reads', async () => {
  const login = (name: string, secret: string) =>
    createBaremetal(
      () => conductor.url,
      ['--os-auth-type', 'http_basic', '--os-username', name, '--os-password', secret],
    );
  const admin = login(user, password);
  const stranger = login(user, 'guessed');
  const reader = login('ron', 'only looks');
  try {
    await admin.text('node', 'create', '--driver', 'fake-hardware', '--name', 'seen');
    expect(await stranger.failure('node', 'list')).toContain('401');
    expect(await reader.text('node', 'list')).toContain('seen');
    expect(await reader.failure('node', 'delete', 'seen')).toContain('403');
  } finally {
    for (const client of [admin, stranger, reader]) await client.close();
  }

  const baton = (environment: Record<string, string>, ...args: string[]) =>
    run(batonProgram, args, {
      env: { BATON_URL: conductor.url, ...environment },
      okExitCodes: [0, 1],
    });
  expect((await baton({}, 'node', 'list')).stderr).toContain('→ it asks who you are: set BATON_TOKEN');
  const file = join(directory, 'token');
  const asAdmin = { BATON_USERNAME: user, BATON_PASSWORD: password };
  const made = await baton(asAdmin, 'token', 'create', 'ci', '--role', 'member', '--expires', '1', '--file', file);
  expect(made.stderr).toBe('');
  await baton({ BATON_TOKEN_FILE: file }, 'maintenance', 'on', 'seen', '--reason', 'new fan');
  const history = await baton(
    { OS_AUTH_TYPE: 'http_basic', OS_USERNAME: 'ron', OS_PASSWORD: 'only looks' },
    'history',
    'seen',
  );
  expect(history.stdout).toMatch(/ci +maintenance on: new fan/);
  await baton(asAdmin, 'token', 'delete', 'ci');
});
