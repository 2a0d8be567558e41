import { expect, test } from 'vitest';
import { type FilterSubject, parseFilter } from '#conductor/networks/vifs/filter-expression.ts';

const port: FilterSubject = {
  isGroup: false,
  address: '52:54:00:00:00:01',
  category: 'fast-1',
  physicalNetwork: 'left',
  vendor: null,
  network: 'storage',
};

test.each([
  ["port.category == 'fast-1'", true],
  ["port.category != 'fast-1'", false],
  ["port.category =~ 'fast'", true],
  ["port.category =~ 'ast'", false],
  ["port.category > 'fast-0' && port.category <= 'fast-1'", true],
  ["port.category >= 'fast-2' || port.category < 'fast-1'", false],
  ["port.physical_network=='left'", true],
  ["network.name == 'storage'", true],
  ["network.name =~ 'tenant'", false],
  ['port.is_port', true],
  ['port.is_portgroup', false],
  // && binds closer
  ["port.is_port || port.is_portgroup && port.category == 'x'", true],
  ["(port.is_port || port.is_portgroup) && port.category == 'x'", false],
  // unknown is neither
  ["port.vendor == 'green'", false],
  ["port.vendor != 'green'", false],
  ["port.vendor == ''", false],
])('%s is %s', (text, holds) => {
  expect(parseFilter(text)(port)).toBe(holds);
});

test('where no network is looked at, what is said of it holds', () => {
  const filter = parseFilter("network.name == 'other' && port.category == 'fast-1'");
  expect([filter(port), filter({ ...port, network: undefined })]).toEqual([false, true]);
});

test.each([
  ['', 'it ends where one of network.name'],
  ['port.speed', "'port.speed' stands where one of"],
  ['network.tags', "'network.tags' stands where one of"],
  ['port.vendor', 'must be followed by one of =='],
  ['port.vendor = "x"', '\'= "x"\' is no variable'],
  ['port.vendor == port.category', 'must be compared with a text in single quotes'],
  ["port.vendor == 'a", 'is no variable'],
  ["(port.vendor == 'a'", 'a ) is missing'],
  ["port.vendor == 'a' port.is_port", "there is 'port.is_port' where && or ||"],
  ["port.vendor == 'a' &&", 'it ends where one of'],
])('%s is refused', (text, fault) => {
  expect(() => parseFilter(text)).toThrow(fault);
});
