import { expect, test } from 'vitest';
import { type DiskMarks, matchDisks } from '#conductor/nodes/inspection/match-disks.ts';

const disk = (device: string, more: Partial<DiskMarks> = {}): DiskMarks => ({
  device,
  serial: null,
  wwn: null,
  model: null,
  ...more,
});

test.each<[string, DiskMarks[], DiskMarks[], string[]]>([
  ['names that have changed', [disk('a', { serial: 'S' })], [disk('b', { serial: 'S' })], []],
  [
    'two namespaces, of which one was met',
    [disk('n1', { serial: 'S', wwn: '1' }), disk('n2', { serial: 'S', wwn: '2' })],
    [disk('n1', { serial: 'S', wwn: '2' })],
    ['n1'],
  ],
  [
    'one disk for two with its serial number',
    [disk('n1', { serial: 'S' }), disk('n2', { serial: 'S' })],
    [disk('n2', { serial: 'S' })],
    ['n1'],
  ],
  [
    'the surer pair first',
    [disk('n1', { serial: 'S' }), disk('n2', { serial: 'S', wwn: '2' })],
    [disk('n1', { serial: 'S', wwn: '2' }), disk('n2', { serial: 'S', wwn: '1' })],
    [],
  ],
  [
    "an older agent's serial number, now one of several",
    [disk('a', { serial: '5000cca0541ae674', wwn: '0x5000cca0541ae674' })],
    [disk('a', { serial: 'KJGATM4R', serials: ['KJGATM4R', '5000cca0541ae674'], wwn: '0x5000cca0541ae674' })],
    [],
  ],
  [
    'volumes of one array, by the extension of its WWN',
    [disk('a', { wwn: '0x6001', wwns: ['0x6001', '0x60010001'] })],
    [disk('a', { wwn: '0x6001', wwns: ['0x6001', '0x60010002'] })],
    ['a'],
  ],
  [
    'such a volume in an older inventory',
    [disk('a', { wwn: '0x6001' })],
    [disk('a', { wwn: '0x6001', wwns: ['0x6001', '0x60010002'] })],
    [],
  ],
  [
    'placeholders, which name nothing',
    [disk('a', { serial: '0000000000', wwn: '0x0000000000000000', sizeBytes: 1 })],
    [disk('b', { serial: '0000000000', wwn: '0x0000000000000000', sizeBytes: 1 })],
    ['a'],
  ],
  ['a name alone', [disk('a'), disk('b')], [disk('a')], ['b']],
  ['a name that another disk has now', [disk('a', { sizeBytes: 1 })], [disk('a', { sizeBytes: 2 })], ['a']],
  ['a disk that has grown silent', [disk('a', { serial: 'S' })], [disk('a')], ['a']],
])('%s', (_, known, met, unmet) => {
  expect(matchDisks(known, met).unmet.map(({ device }) => device)).toEqual(unmet);
});
