import { expect, test } from 'vitest';
import { choosePlace, PortRulesInFile, type RuleGroup, type RulePort } from '#conductor/networks/vifs/port-rules.ts';

const port = (id: number, more: Partial<RulePort> = {}): RulePort => ({
  id,
  uuid: `p${id}`,
  address: `52:54:00:00:00:0${id}`,
  pxeEnabled: false,
  portgroupUuid: null,
  physicalNetwork: null,
  vendor: null,
  category: null,
  availableForDynamicPortgroup: true,
  ...more,
});
const group = (id: number, more: Partial<RuleGroup> = {}): RuleGroup => ({
  id,
  uuid: `g${id}`,
  address: null,
  category: null,
  physicalNetwork: null,
  ...more,
});
const fast = "port.category == 'fast'";
const rules = PortRulesInFile.parse({
  CUSTOM_LATE: { order: 2, actions: [{ action: 'attach_port', filter: 'port.is_port' }] },
  CUSTOM_FAST: { actions: [{ action: 'attach_port', filter: fast }] },
  CUSTOM_GROUP: { actions: [{ action: 'attach_portgroup', filter: fast }] },
  CUSTOM_BOND: {
    actions: [
      { action: 'group_and_attach_ports', filter: `${fast} && network.name == 'blue'`, min_count: 2, max_count: 3 },
    ],
  },
});
const choose = (
  traits: readonly string[],
  ports: readonly RulePort[],
  { network = 'blue', groups = [], attached = [] }: Partial<Parameters<typeof choosePlace>[2]> = {},
) => choosePlace(rules, traits, { network, ports, groups, attached });
const membersOf = (place: ReturnType<typeof choose>) =>
  typeof place === 'object' && place.kind === 'group' ? place.ports.map(({ uuid }) => uuid) : place;

test('the newest free port that fits is taken, by the first trait in order that finds one', () => {
  const ports = [port(1, { category: 'fast' }), port(2, { category: 'fast' }), port(3)];
  expect(choose(['CUSTOM_FAST'], ports)).toEqual({ kind: 'port', uuid: 'p2' });
  expect(choose(['CUSTOM_LATE', 'CUSTOM_FAST'], ports)).toEqual({ kind: 'port', uuid: 'p2' });
  const attached = ['p1', 'p2'].map((uuid) => ({ id: uuid, portUuid: uuid, portgroupUuid: null }));
  expect(choose(['CUSTOM_FAST'], ports, { attached })).toBe('no match');
  expect(choose(['CUSTOM_LATE', 'CUSTOM_FAST'], ports, { attached })).toEqual({ kind: 'port', uuid: 'p3' });
});

test('an instance without a trait that has rules has none', () => {
  expect(choose([], [port(1)])).toBe('no rules');
  expect(choose(['CUSTOM_OTHER'], [port(1)])).toBe('no rules');
});

test('groups are taken whole, and their members not alone', () => {
  const ports = [
    port(1, { portgroupUuid: 'g7', category: 'fast' }),
    port(2, { portgroupUuid: 'g7', category: 'fast' }),
  ];
  const groups = [group(7, { category: 'fast' }), group(8, { category: 'fast' })];
  expect(choose(['CUSTOM_GROUP'], ports, { groups })).toEqual({ kind: 'portgroup', uuid: 'g7' });
  expect(choose(['CUSTOM_FAST'], ports, { groups })).toBe('no match');
  expect(choose(['CUSTOM_BOND'], ports, { groups })).toBe('no match');
});

test('a group is made of ports on one physical network that may be grouped', () => {
  const like = (id: number, more: Partial<RulePort> = {}) => port(id, { category: 'fast', ...more });
  expect(membersOf(choose(['CUSTOM_BOND'], [like(1), like(2)]))).toEqual(['p2', 'p1']);
  expect(membersOf(choose(['CUSTOM_BOND'], [like(1), like(2), like(3), like(4)]))).toEqual(['p4', 'p3', 'p2']);
  expect(choose(['CUSTOM_BOND'], [like(1), port(2)])).toBe('no match');
  expect(choose(['CUSTOM_BOND'], [like(1), like(2, { availableForDynamicPortgroup: false })])).toBe('no match');
  expect(choose(['CUSTOM_BOND'], [like(1), like(2, { physicalNetwork: 'left' })])).toBe('no match');
  const left = { physicalNetwork: 'left' };
  expect(membersOf(choose(['CUSTOM_BOND'], [like(1, left), like(2), like(3, left)]))).toEqual(['p3', 'p1']);
  expect(choose(['CUSTOM_BOND'], [like(1), like(2)], { network: 'red' })).toBe('no match');
});

test.each([
  [{ fast: { actions: [] } }, 'must be a trait'],
  [{ CUSTOM_A: { actions: [] } }, 'must have at least one action'],
  [{ CUSTOM_A: { actions: [{ action: 'bond_ports', filter: 'port.is_port' }] } }, 'action must be attach_port'],
  [{ CUSTOM_A: { actions: [{ action: 'attach_port', filter: 'port' }] } }, 'is no variable'],
  [{ CUSTOM_A: { actions: [{ action: 'attach_port', filter: 'port.is_port', min_count: 2 }] } }, 'must be 1'],
  [
    { CUSTOM_A: { actions: [{ action: 'group_and_attach_ports', filter: 'port.is_port', min_count: 1 }] } },
    '2 or more',
  ],
  [
    { CUSTOM_A: { actions: [{ action: 'group_and_attach_ports', filter: fast, min_count: 3, max_count: 2 }] } },
    'must be min_count or more',
  ],
])('%j is refused', (section, fault) => {
  const messages = JSON.stringify(PortRulesInFile.safeParse(section).error?.issues);
  expect(messages).toContain(fault);
});
