import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { inspectionRules } from '#conductor/kernel/db/schema/template.ts';
import { parseRulesFile } from '#conductor/nodes/inspection/rules/rules-file.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/** Discovered machines, with rules of the operator. */

const rules = `
- description: login of the Lenovos
  conditions:
    - {op: eq, args: {values: ["{inventory[system_vendor][manufacturer]}", Lenovo]}}
    - {op: eq, args: {values: ["{node.provision_state}", enroll]}}
  actions:
    - {op: set-attribute, args: {path: /driver_info/ipmi_username, value: admin}}
    - {op: set-attribute, args: {path: /driver_info/ipmi_password, value: hunter2}}
    - {op: set-attribute, args: {path: /resource_class, value: gold}}
    - {op: set-attribute, args: {path: /name, value: "node-{inventory[system_vendor][serial_number]}"}}
    - {op: add-trait, args: {name: CUSTOM_LENOVO}}
- description: what is not ours
  sensitive: false
  conditions:
    - {op: eq, args: {values: ["{inventory[system_vendor][manufacturer]}", QEMU]}}
  actions:
    - {op: fail, args: {msg: "QEMU is not for this site"}}
- description: wrong
  sensitive: false
  conditions:
    - {op: eq, args: {values: ["{inventory[system_vendor][manufacturer]}", HPE]}}
  actions:
    - {op: set-attribute, args: {path: /name, value: "not a name"}}
    - {op: add-trait, args: {name: CUSTOM_HPE}}
`;
let api: TestApi;
beforeAll(async () => {
  api = await openTestApi({
    settings: { BATON_DISCOVERY: 'true' },
    inspectionRules: parseRulesFile(rules, 'rules.yaml'),
  });
});
beforeEach(async () => {
  await api.reset();
  await api.context.db.delete(inspectionRules);
});
afterAll(() => api.close());

const report = (manufacturer: string) =>
  api.call('POST', '/v1/continue_inspection', {
    inventory: {
      interfaces: [{ name: 'eth0', mac_address: '52:54:00:00:00:01', ipv4_address: '192.0.2.5' }],
      bmc_address: '192.0.2.100',
      system_vendor: { manufacturer, product_name: 'SR630', serial_number: 'J1' },
    },
  });
const path = '/v1/inspection_rules';
const isSun = { op: 'eq', args: ['{inventory[system_vendor][manufacturer]}', 'Sun'] };
const classOf = (name: string) => ({ op: 'set-attribute', args: ['/resource_class', name] });
const historyOf = async (node: string) =>
  ((await api.call('GET', `/v1/nodes/${node}/history?detail=true`)).body['history'] as { event: string }[])
    .map(({ event }) => event)
    .join('\n');

test('a rule fills in what a discovered machine lacks', async () => {
  const { status, body } = await report('Lenovo');
  expect(status).toBe(202);
  const node = (await api.call('GET', `/v1/nodes/${String(body['uuid'])}`)).body;
  expect(node).toMatchObject({
    name: 'node-J1',
    resource_class: 'gold',
    traits: ['CUSTOM_LENOVO'],
    driver_info: { ipmi_address: '192.0.2.100', ipmi_username: 'admin', ipmi_password: '******' },
    driver_internal_info: {},
  });
  const history = await historyOf('node-J1');
  expect(history).toContain('discovered; it can be managed');
  expect(history).toContain('inspection rules (login of the Lenovos) changed /driver_info/ipmi_username');
  expect(history).not.toContain('hunter2');
});

test('a rule may give a discovered machine another driver, with the interfaces of that', async () => {
  const set = (path: string, value: string) => ({ op: 'set-attribute', args: [path, value] });
  const actions = [
    set('/driver', 'redfish'),
    set('/driver_info/redfish_address', 'https://192.0.2.100'),
    set('/deploy_interface', 'ramdisk'),
  ];
  await api.call('POST', path, { description: 'Suns', conditions: [isSun], actions });
  const { body } = await report('Sun');
  expect((await api.call('GET', `/v1/nodes/${String(body['uuid'])}`)).body).toMatchObject({
    driver: 'redfish',
    management_interface: 'redfish',
    power_interface: 'redfish',
    deploy_interface: 'ramdisk',
    driver_info: { redfish_address: 'https://192.0.2.100' },
  });
});

test('what rules would do to a node is told by its inventory, and nothing is done', async () => {
  const { body } = await report('Lenovo');
  const path = `/v1/nodes/${String(body['uuid'])}`;
  await api.call('PATCH', path, [{ op: 'remove', path: '/resource_class' }]);
  const before = (await api.call('GET', path)).body;
  const preview = (await api.call('GET', `${path}/inspection_rules`)).body;
  expect(preview).toMatchObject({
    applied: expect.arrayContaining(['login of the Lenovos']) as string[],
    changed: expect.arrayContaining(['/driver_info/ipmi_username', '/driver_info/ipmi_password']) as string[],
    traits_added: ['CUSTOM_LENOVO'],
    fails: null,
    faults: [],
  });
  expect(JSON.stringify(preview)).not.toContain('hunter2');
  expect((await api.call('GET', path)).body).toEqual(before);
});

test('rules whose changes can not be made are told with the reason', async () => {
  const { body } = await report('HPE');
  const { body: preview } = await api.call('GET', `/v1/nodes/${String(body['uuid'])}/inspection_rules`);
  expect(preview).toMatchObject({ applied: ['wrong'], faults: [expect.stringContaining('not a name')] });
});

const isSensitive = [true, false] as const;
test.each(isSensitive)(
  'what a sensitive rule says is in no preview, nor what is said after it: %s',
  async (sensitive) => {
    const { body } = await report('Sun');
    const preview = async () => (await api.call('GET', `/v1/nodes/${String(body['uuid'])}/inspection_rules`)).body;
    const log = (msg: string) => ({ op: 'log', args: { msg } });
    const rule = (priority: number, actions: readonly object[], more = {}) =>
      api.call('POST', path, { description: `rule ${priority}`, conditions: [isSun], priority, actions, ...more });
    const login = { op: 'set-attribute', args: ['/driver_info/ipmi_password', 'hunter3'] };
    await rule(9, [log('first')]);
    await rule(8, [login, log('login hunter3')], { sensitive });
    await rule(7, [log('password {node.driver_info[ipmi_password]}')]);
    const shown = ['first', 'login hunter3', 'password hunter3'];
    expect(await preview()).toMatchObject({
      changed: ['/driver_info/ipmi_password'],
      logged: sensitive ? ['first'] : shown,
      fails: null,
      faults: [],
    });
    const name = { op: 'set-attribute', args: ['/name', 'not hunter3'] };
    const made = await rule(6, [name]);
    expect(await preview()).toMatchObject({
      faults: [expect.stringContaining(sensitive ? 'nothing would be changed' : 'not hunter3')],
    });
    await api.call('DELETE', `${path}/${made.uuid}`);
    await rule(5, [{ op: 'fail', args: { msg: 'no hunter3' } }]);
    expect((await preview())['fails']).toContain(sensitive ? 'a sensitive rule holds' : 'no hunter3');
    expect(JSON.stringify(await preview()).includes('hunter3')).toBe(!sensitive);
  },
);

test('without a rule the node names what is missing, until it is there', async () => {
  const { body } = await report('Dell');
  const path = `/v1/nodes/${String(body['uuid'])}`;
  const missing = async () => (await api.call('GET', path)).body['driver_internal_info'];
  expect(await missing()).toEqual({
    baton_missing: ['driver_info/ipmi_username', 'driver_info/ipmi_password', 'resource_class'],
  });
  await api.call('PATCH', path, [
    { op: 'add', path: '/driver_info/ipmi_username', value: 'a' },
    { op: 'add', path: '/driver_info/ipmi_password', value: 'b' },
    { op: 'add', path: '/resource_class', value: 'c' },
  ]);
  expect(await missing()).toEqual({});
});

test('a rule may refuse a machine', async () => {
  const { status, fault } = await report('QEMU');
  expect(status).toBeGreaterThanOrEqual(400);
  expect(fault).toContain('an inspection rule says: QEMU is not for this site');
  expect((await api.call('GET', '/v1/nodes')).body['nodes']).toEqual([]);
});

const portOf = async (node: string) =>
  ((await api.call('GET', `/v1/ports?detail=true&node=${node}`)).body['ports'] as Record<string, unknown>[])[0];
const nic = '{plugin_data[all_interfaces][eth0][mac_address]}';

test('rules change ports and what is kept of the inspection', async () => {
  const actions = [
    { op: 'set-port-attribute', args: { port_id: nic, path: '/extra/rack', value: 'r1' } },
    { op: 'set-port-attribute', args: { port_id: nic, path: '/physical_network', value: 'rack1' } },
    { op: 'set-plugin-data', args: { path: 'site.rack', value: 'r1' } },
  ];
  await api.call('POST', path, { description: 'ports', conditions: [isSun], actions });
  const { body } = await report('Sun');
  const node = String(body['uuid']);
  expect(await portOf(node)).toMatchObject({ extra: { rack: 'r1' }, physical_network: 'rack1' });
  expect((await api.call('GET', `/v1/nodes/${node}/inventory`)).body['plugin_data']).toMatchObject({
    all_interfaces: { eth0: { mac_address: '52:54:00:00:00:01' } },
    site: { rack: 'r1' },
  });
  expect(await historyOf(node)).toContain('(ports) changed /ports/52:54:00:00:00:01/extra/rack');
});

test.each([
  ['a port', { op: 'set-port-attribute', args: [nic, '/pxe_enabled', 'never'] }, /change nothing: .*\/pxe_enabled/],
  [
    'a port',
    { op: 'set-port-attribute', args: [nic, '/node_uuid', 'x'] },
    /change nothing: .*Cannot patch \/node_uuid/,
  ],
  ['no port', { op: 'set-port-attribute', args: ['x', '/extra/a', 1] }, /change nothing: .*port_id must be/],
  ['a name that is taken', { op: 'set-attribute', args: ['/name', 'taken'] }, /change nothing: A node with name taken/],
])('rules that can not be applied to %s leave all as it was: %j', async (_, action, said) => {
  await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'taken' });
  const first = { op: 'set-port-attribute', args: [nic, '/extra/rack', 'r1'] };
  await api.call('POST', path, { conditions: [isSun], actions: [classOf('gold'), first, action] });
  const { status, body } = await report('Sun');
  const node = String(body['uuid']);
  expect(status).toBe(202);
  expect(await historyOf(node)).toMatch(said);
  expect((await api.call('GET', `/v1/nodes/${node}`)).body).toMatchObject({ resource_class: null, name: null });
  expect(await portOf(node)).toMatchObject({ extra: {} });
});

test('what a sensitive rule says is in no answer and no history', async () => {
  const fail = { op: 'fail', args: { msg: 'no hunter3' } };
  const made = await api.call('POST', path, {
    description: 'ours',
    conditions: [isSun],
    actions: [fail],
    sensitive: true,
  });
  const { fault } = await report('Sun');
  expect(fault).toContain("an inspection rule 'ours' fails");
  expect(fault).not.toContain('hunter3');
  await api.call('DELETE', `${path}/${made.uuid}`);
  const name = { op: 'set-attribute', args: ['/name', 'not hunter3'] };
  await api.call('POST', path, { description: 'name', conditions: [isSun], actions: [name], sensitive: true });
  const { body } = await report('Sun');
  const history = await historyOf(String(body['uuid']));
  expect(history).toContain('inspection rules (name) change nothing: why is');
  expect(history).not.toContain('hunter3');
});

test('a rule that can not be applied changes nothing, and the history says why', async () => {
  const { status, body } = await report('HPE');
  expect(status).toBe(202);
  expect(await historyOf(String(body['uuid']))).toMatch(
    /inspection rules \(wrong\) change nothing: Cannot change name/,
  );
  expect((await api.call('GET', `/v1/nodes/${String(body['uuid'])}`)).body).toMatchObject({ name: null, traits: [] });
});

test('rules of the API are applied beside those of the file, by priority', async () => {
  const actions = [
    { op: 'set-attribute', args: ['/resource_class', 'silver'] },
    { op: 'set-attribute', args: { path: '/driver_info/ipmi_password', value: 'hunter3' } },
  ];
  const secret = { description: 'login', conditions: [isSun], actions, sensitive: true, priority: 5 };
  const made = await api.call('POST', path, secret);
  expect(made).toMatchObject({ status: 201, body: { sensitive: true, conditions: null, actions: null } });
  const later = {
    description: 'class',
    conditions: [isSun],
    actions: [{ op: 'set-attribute', args: ['/resource_class', 'tin'] }],
  };
  const other = await api.call('POST', path, later);
  const [first] = (await api.call('GET', path)).body['inspection_rules'] as Record<string, unknown>[];
  expect(Object.keys(first ?? {}).sort()).toEqual(['description', 'links', 'phase', 'priority', 'uuid']);
  expect(other.body).toMatchObject({ ...later, priority: 0, phase: 'main', scope: null });
  expect(JSON.stringify(await api.context.db.execute('select * from inspection_rules'))).not.toContain('hunter3');

  const { body } = await report('Sun');
  const node = (await api.call('GET', `/v1/nodes/${String(body['uuid'])}`)).body;
  expect(node).toMatchObject({ resource_class: 'tin', driver_info: { ipmi_password: '******' } });
  expect(await historyOf(String(body['uuid']))).toContain('inspection rules (login, class)');

  for (const { uuid } of [made, other]) expect((await api.call('DELETE', `${path}/${uuid}`)).status).toBe(204);
});

const fault = (text: string) => ({ status: 400, fault: expect.stringContaining(text) as unknown });
const storedText = async () => JSON.stringify(await api.context.db.execute('select * from inspection_rules'));

test('a sensitive rule keeps what of it is not written, and stays sealed', async () => {
  const made = await api.call('POST', path, { conditions: [isSun], actions: [classOf('secret1')], sensitive: true });
  const patch = (operations: unknown) => api.call('PATCH', `${path}/${made.uuid}`, operations);
  const hidden = { status: 200, body: { sensitive: true, conditions: null, actions: null } };
  expect(await patch([{ op: 'replace', path: '/priority', value: 9 }])).toMatchObject(hidden);
  for (const op of ['replace', 'remove'])
    expect(await patch([{ op, path: '/sensitive', ...(op === 'replace' ? { value: false } : {}) }])).toMatchObject(
      fault('/sensitive: must stay true'),
    );
  expect(await patch([{ op: 'replace', path: '/actions', value: [{ op: 'api-call' }] }])).toMatchObject(
    fault("actions.0: op 'api-call' is not supported"),
  );
  expect(await patch([{ op: 'replace', path: '/actions', value: [] }])).toMatchObject(fault('one action at least'));
  // new actions hold for what the conditions are for, and nothing else
  expect(await patch([{ op: 'replace', path: '/actions', value: [classOf('secret2')] }])).toMatchObject(hidden);
  const dell = await report('Dell');
  expect((await api.call('GET', `/v1/nodes/${String(dell.body['uuid'])}`)).body['resource_class']).toBeNull();
  await api.call('DELETE', `/v1/nodes/${String(dell.body['uuid'])}`);
  // new conditions hold for the actions that are there
  const isOracle = { op: 'eq', args: ['{inventory[system_vendor][manufacturer]}', 'Oracle'] };
  expect(await patch([{ op: 'replace', path: '/conditions', value: [isOracle] }])).toMatchObject(hidden);
  expect(await storedText()).not.toMatch(/secret|Oracle/);
  const oracle = await report('Oracle');
  expect((await api.call('GET', `/v1/nodes/${String(oracle.body['uuid'])}`)).body['resource_class']).toBe('secret2');
});

test('a rule may become sensitive', async () => {
  const made = await api.call('POST', path, { conditions: [isSun], actions: [classOf('secret1')] });
  const change = [{ op: 'replace', path: '/sensitive', value: true }];
  expect(await api.call('PATCH', `${path}/${made.uuid}`, change)).toMatchObject({
    status: 200,
    body: { sensitive: true, conditions: null, actions: null },
  });
  expect(await storedText()).not.toContain('secret1');
  const { body } = await report('Sun');
  expect((await api.call('GET', `/v1/nodes/${String(body['uuid'])}`)).body['resource_class']).toBe('secret1');
});

test.each([
  [`actions = '[{"op": "api-call"}]'`, "broken: actions.0: op 'api-call' is not supported"],
  [`sealed = 'sealed:v1:0000000000000000:AAAA'`, 'broken: inspection rule '],
])('a stored rule that can not be read is told: %s', async (change, reported) => {
  await api.call('POST', path, { description: 'broken', actions: [classOf('x')] });
  await api.context.db.execute(`update inspection_rules set ${change}`);
  const { status, body } = await report('Sun');
  expect(status).toBe(202);
  expect(await historyOf(String(body['uuid']))).toContain(`inspection rule not applied: ${reported}`);
});

test.each([
  [{ actions: [] }, 'actions: must have one action at least'],
  [{}, 'actions'],
  [{ actions: [{ op: 'api-call', args: {} }] }, "actions.0: op 'api-call' is not supported"],
  [
    { actions: [{ op: 'log', args: ['x'] }], conditions: [{ op: 'eq', args: { nothing: 1 } }] },
    'conditions.0: eq needs',
  ],
  [{ actions: [{ op: 'log', args: ['x'] }], priority: 10_000 }, 'priority'],
  [{ actions: [{ op: 'log', args: ['x'] }], scope: 'x' }, 'scope: is not supported'],
  [{ actions: [{ op: 'log', args: ['x'] }], phase: 'later' }, 'phase: must be main'],
])('what is not a rule is refused: %j', async (rule, fault) => {
  expect(await api.call('POST', path, rule)).toMatchObject({
    status: 400,
    fault: expect.stringContaining(fault) as unknown,
  });
  expect((await api.call('GET', path)).body).toEqual({ inspection_rules: [] });
});
