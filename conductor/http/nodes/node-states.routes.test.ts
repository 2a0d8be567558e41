import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { portVlans } from '#conductor/model/port-vlans.ts';
import { nextProvisionState, type ProvisionState } from '#conductor/model/provision-states.ts';
import { noNetworks } from '#conductor/networks/networks-file.ts';
import { claimLease, releaseLease } from '#conductor/nodes/node-lease.ts';
import { updateNode } from '#conductor/nodes/node-store.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
let uuid: string;
beforeAll(async () => {
  api = await openTestApi({
    networks: { ...noNetworks, networks: ['tenant-a', 'tenant-c'].map((name) => ({ name, vlans: portVlans(10) })) },
  });
});
beforeEach(async () => {
  await api.reset();
  uuid = (await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', deploy_interface: 'direct', name: 'n1' }))
    .uuid;
});
afterAll(() => api.close());

const put = (path: string, body: unknown, version?: string) => api.call('PUT', `/v1/nodes/n1/${path}`, body, version);
const get = async (path: string) => (await api.call('GET', `/v1/nodes/n1/${path}`)).body;
const inState = (provisionState: ProvisionState) =>
  api.context.db.update(nodes).set({ provisionState, targetProvisionState: null });
const containing = (text: string) => expect.stringContaining(text) as unknown;

describe('provision', () => {
  test('is accepted with the target set, nudges and starts a flow', async () => {
    const { status, headers } = await put('states/provision', { target: 'manage' });
    expect(status).toBe(202);
    expect(headers.get('Location')).toBe('http://api.example/v1/nodes/n1/states');
    expect(await get('states')).toMatchObject({
      provision_state: 'verifying',
      target_provision_state: 'manageable',
      console_enabled: false,
      raid_config: {},
      boot_mode: null,
    });
    expect(api.nudged).toEqual([uuid]);
    expect(await get('flow')).toMatchObject({ kind: 'verify', state: 'running', steps: [{ step: 'verify_power' }] });
    expect(await get('history')).toMatchObject({
      history: [{ event: 'created in enroll' }, { event: 'enroll → verifying' }],
    });
  });

  test('a node that never worked has no flow', async () => {
    expect((await api.call('GET', '/v1/nodes/n1/flow')).status).toBe(404);
  });

  test.each([
    [{ target: 'active' }, 400, 'can not be performed on node'],
    [{ target: 'zzz' }, 400, 'Possible now: manage'],
    [{ target: 'manage', bogus: 1 }, 400, 'Unexpected arguments: bogus'],
    [{}, 400, 'target'],
    [{ target: 'manage', configdrive: 'x' }, 400, 'configdrive: it is only possible with target active'],
    [{ target: 'clean', clean_steps: [] }, 400, 'clean_steps: must have at least one step'],
    [{ target: 'clean' }, 400, "clean_steps: it must be given with target 'clean'"],
    [{ target: 'active', plan_hash: 'x' }, 400, 'plan_hash: must be the 64 hex digits'],
    [{ target: 'active', runbook: 'r' }, 400, 'runbook: it is only possible with target clean, service'],
    [
      { target: 'active', deploy_steps: [{ interface: 'deploy', step: 'x', args: {} }] },
      400,
      'deploy_steps.0.priority',
    ],
    [{ target: 'active', deploy_steps: [{ interface: 'z', step: 'x', args: {}, priority: 1 }] }, 400, 'must be one of'],
  ])('refuses %j', async (body, status, fault) => {
    expect(await put('states/provision', body)).toMatchObject({ status, fault: containing(fault) });
  });

  test('verbs and keys newer than the version are not acceptable', async () => {
    expect((await put('states/provision', { target: 'manage' }, '1.3')).status).toBe(406);
    const steps = { target: 'active', deploy_steps: [{ interface: 'deploy', step: 'x', args: {}, priority: 1 }] };
    expect((await put('states/provision', steps, '1.68')).status).toBe(406);
    expect((await put('states/provision', { target: 'active', configdrive: {} }, '1.55')).status).toBe(406);
  });

  test('a service without a ramdisk is there since 1.108, a cleaning since 1.70', async () => {
    const step = { interface: 'bios', step: 'factory_reset', args: {} };
    const bare = (verb: 'clean' | 'service', version: string) =>
      put('states/provision', { target: verb, [`${verb}_steps`]: [step], disable_ramdisk: true }, version);
    await inState('manageable');
    expect((await bare('clean', '1.69')).status).toBe(406);
    expect((await bare('clean', '1.70')).status).toBe(202);
    await api.context.db.execute('delete from flows');
    await inState('active');
    expect(await bare('service', '1.107')).toMatchObject({
      status: 406,
      fault: containing("'disable_ramdisk' for target 'service' needs API version 1.108"),
    });
    expect((await bare('service', '1.108')).status).toBe(202);
    const { steps } = (await get('flow')) as { steps: { step: string }[] };
    expect(steps.map(({ step: name }) => name)).not.toContain('boot_ramdisk');
    expect(await put('states/provision', { target: 'manage', disable_ramdisk: true }, '1.108')).toMatchObject({
      status: 400,
      fault: containing('disable_ramdisk: it is only possible with target clean, service'),
    });
  });
});

test.each([
  ['wait call-back', 110, 'deploy failed'],
  ['inspect wait', 41, 'inspect failed'],
] as const)("abort in '%s' is there since 1.%i, and leads to '%s'", async (state, since, next) => {
  await inState('manageable');
  await put('states/provision', { target: 'inspect' });
  await inState(state);
  const abort = { target: 'abort' };
  expect(await put('states/provision', abort, `1.${since - 1}`)).toMatchObject({
    status: 406,
    fault: containing(`target 'abort' in '${state}' needs API version 1.${since}`),
  });
  expect((await put('states/provision', abort, `1.${since}`)).status).toBe(202);
  expect(nextProvisionState(state, 'abort')).toBe(next);
});

describe('power', () => {
  test('is accepted with the target set', async () => {
    expect((await put('states/power', { target: 'power on' })).status).toBe(202);
    expect(await get('states')).toMatchObject({ target_power_state: 'power on' });
    expect(api.nudged).toEqual([uuid]);
  });

  test('keeps the operator’s timeout for the one that acts', async () => {
    await put('states/power', { target: 'soft power off', timeout: 900 });
    const [row] = await api.context.db.select().from(nodes);
    expect(row).toMatchObject({ targetPowerState: 'soft power off', powerTimeout: 900 });
    expect((await put('states/power', { target: 'power on', timeout: 3_000_000_000 })).status).toBe(400);
  });

  test('refuses an unknown target, a bad timeout, and soft actions before 1.27', async () => {
    expect(await put('states/power', { target: 'zzz' })).toMatchObject({
      status: 400,
      fault: containing('The requested action "zzz" can not be performed'),
    });
    expect(await put('states/power', { target: 'power off', timeout: -1 })).toMatchObject({
      status: 400,
      fault: containing('timeout has to be positive integer'),
    });
    expect((await put('states/power', { target: 'soft power off' }, '1.26')).status).toBe(406);
  });
});

test('validate answers by interface', async () => {
  expect(await get('validate')).toMatchObject({ power: { result: true }, deploy: { result: false } });
  expect((await api.call('GET', '/v1/nodes/validate?node=n1')).body).toMatchObject({ power: { result: true } });
  await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'pretender' });
  expect((await api.call('GET', '/v1/nodes/pretender/validate')).body).toMatchObject({
    inspect: { result: true },
    rescue: { result: true },
  });
  await api.call('PATCH', '/v1/nodes/pretender', [{ op: 'add', path: '/inspect_interface', value: 'agent' }]);
  expect((await api.call('GET', '/v1/nodes/pretender/validate')).body).toMatchObject({
    deploy: { result: true },
    boot: { result: true },
    inspect: { result: false, reason: expect.stringContaining('no port') as unknown },
  });
});

test('an inspection by the BMC needs no port, and its plan asks the BMC alone', async () => {
  const driver_info = { redfish_address: 'https://192.0.2.9', redfish_username: 'a', redfish_password: 'b' };
  const body = { driver: 'redfish', name: 'asked', driver_info, inspect_interface: 'redfish' };
  await api.call('POST', '/v1/nodes', body);
  await inState('manageable');
  const call = async (path: string) => (await api.call('GET', `/v1/nodes/asked/${path}`)).body;
  expect(await call('validate')).toMatchObject({ boot: { result: false }, inspect: { result: true } });
  const planned = await api.call('POST', '/v1/nodes/asked/plan', { target: 'inspect' });
  expect(planned.body).toMatchObject({ refused: null, steps: [{ step: 'read_machine' }], destroys: [] });
  expect((await api.call('PUT', '/v1/nodes/asked/states/provision', { target: 'inspect' })).status).toBe(202);
  expect(await call('flow')).toMatchObject({ kind: 'inspect_by_bmc', steps: [{ step: 'read_machine' }] });
  expect(await call('')).toMatchObject({ provision_state: 'inspecting', target_provision_state: 'manageable' });
  expect((await api.call('PUT', '/v1/nodes/asked/states/provision', { target: 'abort' })).status).toBe(202);
  expect(await call('')).toMatchObject({ provision_state: 'inspect failed' });
});

test('maintenance has a reason, which goes with it', async () => {
  expect((await put('maintenance', { reason: 'fan' })).status).toBe(202);
  expect(await get('')).toMatchObject({ maintenance: true, maintenance_reason: 'fan' });
  expect((await put('maintenance', undefined)).status).toBe(202);
  expect((await api.call('DELETE', '/v1/nodes/n1/maintenance')).status).toBe(202);
  expect(await get('')).toMatchObject({ maintenance: false, maintenance_reason: null });
});

test('maintenance that an operator sets has no fault, so that no power sync ends it', async () => {
  const fault = { maintenance: true, fault: 'power failure', maintenanceReason: 'away' };
  await updateNode(api.context.db, uuid, fault);
  await put('maintenance', { reason: 'new fan' });
  expect(await get('')).toMatchObject({ maintenance: true, maintenance_reason: 'new fan', fault: null });
  await updateNode(api.context.db, uuid, fault);
  await api.call('PATCH', '/v1/nodes/n1', [{ op: 'add', path: '/maintenance', value: true }]);
  expect(await get('')).toMatchObject({ maintenance: true, fault: null });
});

test('boot device is read from and set in the BMC', async () => {
  expect(await get('management/boot_device')).toEqual({ boot_device: 'pxe', persistent: true });
  expect((await put('management/boot_device', { boot_device: 'pxe' })).status).toBe(204);
  expect(await get('management/boot_device')).toEqual({ boot_device: 'pxe', persistent: false });
  expect(await get('management/boot_device/supported')).toHaveProperty('supported_boot_devices');
  expect(await put('management/boot_device', { boot_device: 'zz' })).toMatchObject({
    status: 400,
    fault: containing('Invalid boot device zz specified, supported are pxe, disk'),
  });
  const lease = await claimLease(api.context.db, uuid, { holder: 'other', leaseMs: 60_000 });
  expect((await put('management/boot_device', { boot_device: 'pxe' })).status).toBe(409);
  if (lease) await releaseLease(api.context.db, lease);
});

test('traits', async () => {
  expect((await put('traits', { traits: ['CUSTOM_B', 'HW_CPU_X86_VMX'] })).status).toBe(204);
  const added = await put('traits/CUSTOM_A', undefined);
  expect(added.headers.get('Location')).toBe('http://api.example/v1/nodes/n1/traits/CUSTOM_A');
  expect(await get('traits')).toEqual({ traits: ['CUSTOM_A', 'CUSTOM_B', 'HW_CPU_X86_VMX'] });
  expect(await get('')).toMatchObject({ traits: ['CUSTOM_A', 'CUSTOM_B', 'HW_CPU_X86_VMX'] });
  expect((await put('traits/bad', undefined)).status).toBe(400);
  expect((await api.call('DELETE', '/v1/nodes/n1/traits/CUSTOM_A')).status).toBe(204);
  expect(await api.call('DELETE', '/v1/nodes/n1/traits/CUSTOM_A')).toMatchObject({
    status: 404,
    fault: `Node ${uuid} doesn't have a trait 'CUSTOM_A'`,
  });
  await api.call('DELETE', '/v1/nodes/n1/traits');
  expect(await get('traits')).toEqual({ traits: [] });
});

describe('vifs', () => {
  const attach = (id: string) => api.call('POST', '/v1/nodes/n1/vifs', { id });

  test('are accepted and not kept with the noop network interface', async () => {
    expect((await attach('whatever')).status).toBe(204);
    expect(await get('vifs')).toEqual({ vifs: [] });
    expect((await api.call('DELETE', '/v1/nodes/n1/vifs/whatever')).status).toBe(204);
  });

  test('name one network of the networks file with switchport', async () => {
    await api.call('PATCH', '/v1/nodes/n1', [{ op: 'add', path: '/network_interface', value: 'switchport' }]);
    expect(await attach('nope')).toMatchObject({ status: 400, fault: containing('the networks file has tenant-a') });
    expect((await attach('tenant-a')).status).toBe(204);
    expect(await attach('tenant-a')).toMatchObject({ status: 409, fault: containing('attached already') });
    expect(await get('vifs')).toEqual({ vifs: [{ id: 'tenant-a' }] });
    expect((await api.call('DELETE', '/v1/nodes/n1/vifs/tenant-a')).status).toBe(204);
    expect((await api.call('DELETE', '/v1/nodes/n1/vifs/tenant-a')).status).toBe(400);
  });

  test('several take ports of their own, by request or where there is room', async () => {
    await api.call('PATCH', '/v1/nodes/n1', [{ op: 'add', path: '/network_interface', value: 'switchport' }]);
    const plug = async (address: string, more: object = {}) => {
      const body = { node_uuid: uuid, address, local_link_connection: { switch_id: 's', port_id: address }, ...more };
      return (await api.call('POST', '/v1/ports', body)).uuid;
    };
    const first = await plug('52:54:00:00:01:01');
    const body = (id: string, more: object) => api.call('POST', '/v1/nodes/n1/vifs', { id, ...more });
    expect((await body('tenant-a', { port_uuid: first })).status).toBe(204);
    expect(await attach('tenant-c')).toMatchObject({
      status: 400,
      fault: containing('not enough free physical ports'),
    });
    const { uuid: portgroup } = await api.call('POST', '/v1/portgroups', { node_uuid: uuid });
    await plug('52:54:00:00:01:02', { portgroup_uuid: portgroup });
    expect(await body('tenant-c', { port_uuid: first })).toMatchObject({
      status: 400,
      fault: containing('has another VIF'),
    });
    const elsewhere = crypto.randomUUID();
    expect(await body('tenant-c', { port_uuid: elsewhere })).toMatchObject({
      status: 400,
      fault: containing(`has no port ${elsewhere}`),
    });
    expect(await body('tenant-c', { portgroup_uuid: elsewhere })).toMatchObject({
      status: 400,
      fault: containing(`has no port group ${elsewhere}`),
    });
    expect(await body('tenant-c', { port_uuid: first, portgroup_uuid: portgroup })).toMatchObject({
      status: 400,
      fault: containing('not both'),
    });
    expect((await body('tenant-c', { portgroup_uuid: portgroup })).status).toBe(204);
    expect(await get('vifs')).toEqual({ vifs: [{ id: 'tenant-a' }, { id: 'tenant-c' }] });
    expect(await api.call('DELETE', `/v1/ports/${first}`)).toMatchObject({
      status: 409,
      fault: containing('VIF tenant-a is attached'),
    });
    await api.call('DELETE', '/v1/nodes/n1/vifs/tenant-a');
    expect((await api.call('DELETE', `/v1/ports/${first}`)).status).toBe(204);
  });

  test.each(['active', 'rescue', 'deploying', 'wait call-back'] as const)(
    'stay as they are while %s',
    async (state) => {
      await api.call('PATCH', '/v1/nodes/n1', [{ op: 'add', path: '/network_interface', value: 'switchport' }]);
      await attach('tenant-a');
      await api.context.db.update(nodes).set({ provisionState: state });
      expect(await api.call('DELETE', '/v1/nodes/n1/vifs/tenant-a')).toMatchObject({
        status: 409,
        fault: containing(`while it is in '${state}'`),
      });
      expect((await attach('tenant-b')).status).toBe(400);
      expect((await attach('tenant-a')).status).toBe(409);
      expect(await get('vifs')).toEqual({ vifs: [{ id: 'tenant-a' }] });
    },
  );
});

test('a history entry is cut in the list and whole by itself', async () => {
  await put('maintenance', { reason: 'x'.repeat(300) });
  const { history } = (await get('history')) as { history: { uuid: string; event: string }[] };
  const entry = history.at(-1);
  expect(entry?.event).toHaveLength(255);
  expect(await get(`history/${entry?.uuid}`)).toMatchObject({
    event: `maintenance on: ${'x'.repeat(300)}`,
    event_type: 'maintenance',
    conductor: 'test-host',
  });
});

test('what a node does not have: empty lists, absent things, refusals', async () => {
  expect(await get('bios')).toEqual({ bios: [] });
  expect(await get('portgroups')).toEqual({ portgroups: [] });
  expect((await api.call('GET', '/v1/nodes/n1/inventory')).status).toBe(404);
  expect(await get('firmware')).toEqual({ firmware: [] });
  expect(await get('children')).toMatchObject({ children: [], links: { rel: 'children' } });
  expect(await get('states/console')).toEqual({ console_enabled: false, console_info: null });
  expect(await get('vendor_passthru/methods')).toEqual({});
  expect((await api.call('GET', '/v1/nodes/n1/vmedia')).fault).toContain('does not support vmedia');
  await api.call('PATCH', '/v1/nodes/n1', [{ op: 'add', path: '/console_interface', value: 'no-console' }]);
  expect(await put('states/console', { enabled: true })).toMatchObject({
    status: 400,
    fault: containing('no-console'),
  });
});
