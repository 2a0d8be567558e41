import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { conditionHolds } from '#conductor/nodes/inspection/rules/conditions.ts';
import type { RuleSubject } from '#conductor/nodes/inspection/rules/fill-in.ts';
import { planRules, type RulesGiven, type RulesPlan } from '#conductor/nodes/inspection/rules/plan-rules.ts';
import { parseRulesFile } from '#conductor/nodes/inspection/rules/rules-file.ts';
import type { InspectionRule, RuleCall } from '#conductor/nodes/inspection-rule.ts';

const found = (regex: string, text: string): boolean => new RegExp(regex, 'u').test(text);
const holdsHere = (condition: RuleCall, subject: RuleSubject): boolean => conditionHolds(condition, subject, found);
const plan = (rules: readonly InspectionRule[], given: RulesGiven): RulesPlan =>
  planRules(rules, given, (_rule, regex, text) => found(regex, text));

const subject = {
  node: { name: null, driver: 'ipmi', driver_info: {}, properties: { capabilities: 'boot_mode:uefi' }, extra: {} },
  inventory: {
    system_vendor: { manufacturer: 'Dell Inc.', serial_number: '42' },
    cpu: { count: 32 },
    bmc_address: '10.1.2.3',
    disks: [],
  },
  plugin_data: { parsed_lldp: { eth0: { switch_system_name: 'leaf1' } } },
  ports: [
    {
      uuid: '0b1c2d3e-0000-4000-8000-000000000001',
      address: '52:54:00:00:00:01',
      document: { address: '52:54:00:00:00:01', extra: {}, pxe_enabled: true },
    },
  ],
};

const vendor = '{inventory[system_vendor][manufacturer]}';
const cases: [op: string, args: Record<string, unknown>, expected: boolean][] = [
  ['eq', { values: [vendor, 'Dell Inc.'] }, true],
  ['eq', { values: ['{inventory[cpu][count]}', '32'] }, true],
  ['!eq', { values: [vendor, 'HPE'] }, true],
  ['eq', { values: ['{node.driver}', 'redfish'] }, false],
  ['lt', { values: [8, '{inventory[cpu][count]}', 64] }, true],
  ['gt', { values: ['{inventory[cpu][count]}', 9] }, true],
  ['lt', { values: ['a', 'b'] }, true],
  ['is-empty', { value: '{inventory[disks]}' }, true],
  ['is-none', { value: '{inventory[nothing][below]}' }, true],
  ['is-none', { value: '{node.name}' }, true],
  ['is-true', { value: 'yes' }, true],
  ['is-true', { value: 0 }, false],
  ['is-false', { value: '{node.name}' }, true],
  ['in-net', { address: '{inventory[bmc_address]}', subnet: '10.1.0.0/16' }, true],
  ['in-net', { address: '{inventory[bmc_address]}', subnet: 'fd00::/16' }, false],
  ['in-net', { address: '', subnet: '10.1.0.0/16' }, false],
  ['one-of', { value: '{plugin_data[parsed_lldp][eth0][switch_system_name]}', values: ['leaf1', 'leaf2'] }, true],
  ['matches', { value: vendor, regex: 'Dell.*' }, true],
  ['matches', { value: vendor, regex: 'Dell' }, false],
  ['contains', { value: vendor, regex: 'Dell' }, true],
  ['!contains', { value: 'serial {inventory[system_vendor][serial_number]}', regex: 'serial 42' }, false],
  ['is-none', { value: '{inventory[constructor]}' }, true],
];
test.each(cases)('%s %j is %s', (op, args, expected) => {
  expect(holdsHere({ op, args }, subject)).toBe(expected);
});

const file = `
- description: later
  priority: 1
  conditions:
    - {op: eq, args: {values: ["{node.driver_info[ipmi_username]}", admin]}}
  actions:
    - {op: add-trait, args: [CUSTOM_KNOWN]}
    - {op: extend-attribute, args: {path: /extra/racks, value: r1, unique: true}}
    - {op: extend-attribute, args: {path: /extra/racks, value: r1, unique: true}}
- description: first
  priority: 10
  actions:
    - {op: set-attribute, args: [/driver_info/ipmi_username, admin]}
    - {op: set-attribute, args: {path: extra.place.rack, value: "{plugin_data[parsed_lldp][eth0][switch_system_name]}-1"}}
    - {op: set-attribute, args: {path: /properties/cpus, value: "{inventory[cpu][count]}"}}
    - {op: set-capability, args: {name: tier, value: gold}}
    - {op: del-attribute, args: {path: /properties/nothing}}
    - {op: log, args: {msg: "seen {inventory[system_vendor][serial_number]}"}}
`;

test('rules run by priority, and see what those before have changed', () => {
  const planned = plan(parseRulesFile(file, 'rules.yaml'), subject);
  expect(planned).toEqual({
    applied: ['first', 'later'],
    patch: [
      { op: 'add', path: '/driver_info/ipmi_username', value: 'admin' },
      { op: 'add', path: '/extra/place', value: {} },
      { op: 'add', path: '/extra/place/rack', value: 'leaf1-1' },
      { op: 'add', path: '/properties/cpus', value: 32 },
      { op: 'add', path: '/properties/capabilities', value: 'boot_mode:uefi,tier:gold' },
      { op: 'add', path: '/extra/racks', value: ['r1'] },
    ],
    ports: [],
    pluginData: undefined,
    changed: [
      '/driver_info/ipmi_username',
      '/extra/place',
      '/extra/place/rack',
      '/properties/cpus',
      '/properties/capabilities',
      '/extra/racks',
    ],
    traits: { added: ['CUSTOM_KNOWN'], removed: [] },
    lines: ['seen 42'],
    openLines: 0,
    failure: undefined,
  });
  expect(subject.node.driver_info, 'left as it was').toEqual({});
});

test('ports are changed by UUID or MAC address, and what was found besides by path', () => {
  const rules = parseRulesFile(
    `
- actions:
    - op: set-port-attribute
      args: {port_id: "52:54:00:00:00:01", path: /extra/leaf, value: "{plugin_data[parsed_lldp][eth0][switch_system_name]}"}
    - {op: set-port-attribute, args: ["0B1C2D3E-0000-4000-8000-000000000001", physical_network, rack1]}
    - {op: extend-port-attribute, args: ["{inventory[nic]}", /extra/seen, one, true]}
    - {op: extend-port-attribute, args: ["{inventory[nic]}", /extra/seen, one, true]}
    - {op: del-port-attribute, args: ["{inventory[nic]}", /pxe_enabled]}
    - {op: set-plugin-data, args: {path: site.rack, value: r1}}
    - {op: extend-plugin-data, args: {path: [site, tags], value: "{plugin_data[site][rack]}"}}
    - {op: unset-plugin-data, args: {path: parsed_lldp.eth0}}
    - {op: set-capability, args: [tier, gold]}
    - {op: unset-capability, args: [boot_mode]}
- conditions: [{op: eq, args: ["{plugin_data[site][rack]}", r1]}]
  actions: [{op: set-attribute, args: [/extra/rack, "{plugin_data[site][rack]}"]}]
`,
    'f',
  );
  const planned = plan(rules, { ...subject, inventory: { nic: '52:54:00:00:00:01' } });
  expect(planned.ports).toEqual([
    {
      uuid: '0b1c2d3e-0000-4000-8000-000000000001',
      patch: [
        { op: 'add', path: '/extra/leaf', value: 'leaf1' },
        { op: 'add', path: '/physical_network', value: 'rack1' },
        { op: 'add', path: '/extra/seen', value: ['one'] },
        { op: 'remove', path: '/pxe_enabled' },
      ],
    },
  ]);
  expect(planned.pluginData).toEqual({ parsed_lldp: {}, site: { rack: 'r1', tags: ['r1'] } });
  expect(planned.patch).toEqual([
    { op: 'add', path: '/properties/capabilities', value: 'boot_mode:uefi,tier:gold' },
    { op: 'add', path: '/properties/capabilities', value: 'tier:gold' },
    { op: 'add', path: '/extra/rack', value: 'r1' },
  ]);
  expect(planned.changed).toContain('/ports/52:54:00:00:00:01/extra/leaf');
  expect(planned.changed).toContain('/plugin_data/site/rack');
  expect(subject.plugin_data, 'left as it was').toEqual({ parsed_lldp: { eth0: { switch_system_name: 'leaf1' } } });
});

test.each([
  ['52:54:00:00:00:02', /port_id must be the UUID or MAC address of one of the node's ports; it is 52:54:00:00:00:02/],
  ['{inventory[nothing]}', /it is none/],
])('a port that the node does not have is a fault: %s', (id, fault) => {
  const rules = parseRulesFile(`[{actions: [{op: set-port-attribute, args: ["${id}", /extra/a, b]}]}]`, 'f');
  expect(plan(rules, subject)).toMatchObject({ ports: [], fault: expect.stringMatching(fault) as unknown });
});

test("the manual's example is read", async () => {
  const example = await readFile(new URL('../../../../docs/examples/inspection-rules.yaml', import.meta.url), 'utf8');
  const lenovo = {
    ...subject,
    inventory: { system_vendor: { manufacturer: 'Lenovo', serial_number: 'J1' }, bmc_address: '10.2.1.9' },
  };
  const { applied, patch } = plan(parseRulesFile(example, 'inspection-rules.yaml'), lenovo);
  expect(applied).toEqual(['Lenovos of rack 1']);
  expect(patch).toContainEqual({ op: 'add', path: '/name', value: 'r1-J1' });
  const withGpu = (passed: boolean) => ({
    ...subject,
    inventory: { baton_accelerators: [{ vendor_id: '10de' }], disks: [{ baton_health: { passed } }] },
  });
  const appliedTo = (machine: RulesGiven) => plan(parseRulesFile(example, 'inspection-rules.yaml'), machine).applied;
  expect(appliedTo(withGpu(true))).toEqual(["NVIDIA's GPUs, and no disk that is failing"]);
  expect(appliedTo(withGpu(false))).toEqual([]);
});

test.each([
  ['any', true],
  ['all', false],
  ['first', false],
  ['last', true],
] as const)('a condition with a loop holds for %s of its items', (multiple, expected) => {
  const values = [vendor, '{item}'];
  expect(holdsHere({ op: 'eq', args: { values }, loop: ['HPE', 'Dell Inc.'], multiple }, subject)).toBe(expected);
  expect(holdsHere({ op: 'eq', args: { values: [vendor, 'Dell Inc.'] }, loop: [], multiple }, subject)).toBe(true);
});

test('an action with a loop is done for each item of a list, once for an object, and once with an empty list', () => {
  const rules = parseRulesFile(
    `
- actions:
    - op: set-attribute
      args: ["{item[path]}", "{item[value]}"]
      loop:
        - {path: /driver_info/ipmi_username, value: admin}
        - {path: /driver_info/ipmi_address, value: "{inventory[bmc_address]}"}
    - {op: set-attribute, args: ["/extra/{item[key]}", "{item[value]}"], loop: {key: rack, value: r1}}
    - {op: set-attribute, args: ["/extra/row", "9"], loop: []}
    - {op: fail, args: ["{item}"], loop: [one]}
`,
    'f',
  );
  expect(plan(rules, subject)).toMatchObject({
    patch: [
      { path: '/driver_info/ipmi_username', value: 'admin' },
      { path: '/driver_info/ipmi_address', value: '10.1.2.3' },
      { path: '/extra/rack', value: 'r1' },
      { path: '/extra/row', value: '9' },
    ],
    failure: 'one',
  });
});

test.each([
  ['__proto__/polluted', { patch: [{ path: '/extra/__proto__~1polluted', value: 'yes' }], fault: undefined }],
  ['eth0.100', { patch: [{ path: '/extra/eth0.100', value: 'yes' }], fault: undefined }],
  ['__proto__', { patch: [], fault: expect.stringContaining("must not have the key '__proto__'") as unknown }],
  ['', { patch: [], fault: expect.stringContaining("must not have the key ''") as unknown }],
])('a name that a machine reports adds no levels to a path: %j', (name, expected) => {
  const text = `
- actions:
    - {op: set-attribute, args: ["/extra/{item[name]}", "yes"], loop: [{name: "{inventory[interface][name]}"}]}
- actions:
    - {op: log, args: [later]}
`;
  const inventory = { interface: { name } };
  expect(plan(parseRulesFile(text, 'f'), { ...subject, inventory })).toMatchObject(expected);
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  const direct = parseRulesFile(
    '[{actions: [{op: set-attribute, args: ["/extra/{inventory[interface][name]}", "yes"]}]}]',
    'f',
  );
  expect(plan(direct, { ...subject, inventory })).toMatchObject(expected);
  const written = parseRulesFile('[{actions: [{op: set-attribute, args: [extra.__proto__.polluted, "yes"]}]}]', 'f');
  expect(plan(written, subject)).toMatchObject({ patch: [], fault: expect.any(String) as unknown });
});

test('a failure ends them', () => {
  const rules = parseRulesFile(
    '[{actions: [{op: fail, args: ["no {node.driver} here"]}]}, {actions: [{op: add-trait, args: [HW_X]}]}]',
    'f',
  );
  expect(plan(rules, subject)).toMatchObject({
    applied: ['rule 1'],
    failure: 'no ipmi here',
    traits: { added: [] },
  });
});

test.each([
  ['a: 1', 'f: the file: must be a list of rules'],
  ['- [', 'BATON_INSPECTION_RULES_FILE: f: '],
  ['[{actions: []}]', '0.actions: must have one action at least'],
  [
    '[{actions: [{op: api-call, args: {url: x}}]}]',
    "0.actions.0: op 'api-call' is not supported; there are set-attribute",
  ],
  ['[{actions: [{op: "!fail", args: [x]}]}]', "op '!fail' is not supported"],
  ['[{actions: [{op: fail, args: [x], loop: 3}]}]', '0.actions.0.loop: must be a list or an object'],
  ['[{actions: [{op: fail, args: [x], multiple: any}]}]', '0.actions.0.multiple'],
  ['[{actions: [{op: set-attribute, args: [/name]}]}]', '0.actions.0: set-attribute needs value'],
  ['[{actions: [{op: fail, args: [a, b]}]}]', 'fail has no argument 2'],
  ['[{actions: [{op: add-trait, args: [gold]}]}]', 'add-trait: must be CUSTOM_'],
  [
    '[{conditions: [{op: matches, args: [a, "("]}], actions: [{op: fail, args: [x]}]}]',
    '0.conditions.0: matches: Invalid regular',
  ],
  [
    '[{conditions: [{op: like, args: [a]}], actions: [{op: fail, args: [x]}]}]',
    "0.conditions.0: op 'like' is not supported",
  ],
])('refuses %s', (text, says) => {
  expect(() => parseRulesFile(text, 'f')).toThrow(says);
});
