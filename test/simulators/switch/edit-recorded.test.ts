import { expect, test } from 'vitest';
import { editRecorded } from '#test/simulators/switch/edit-recorded.ts';

/** A change stands in the place of what it changes; all else stays as it was printed. */

test('lines of a section, with its indentation; a new section at the end; one that goes', () => {
  const recorded =
    'version 17\n!\ninterface Gi1 \n description a\n switchport mode access\n weird  line\n!\ninterface Gi2\n mtu 9';
  const before = 'interface Gi1\n   description a\ninterface Gi2\n   mtu 9';
  const keyOf = (line: string): string => line.replace(/ \w+$/, '');
  const after = 'interface Gi1\n   switchport mode trunk\ninterface Po7\n   mtu 5';
  expect(editRecorded(recorded, { before, after, keyOf })).toBe(
    'version 17\n!\ninterface Gi1 \n weird  line\n switchport mode trunk\n!\ninterface Po7\n mtu 5',
  );
  expect(editRecorded(recorded, { before, after: before })).toBe(recorded);
});

test('a new section stands behind the interfaces, before what follows them', () => {
  const recorded = 'version 17\n!\ninterface Gi1\n mtu 9\n!\nntp server a\nend';
  expect(editRecorded(recorded, { before: 'interface Gi1', after: 'interface Gi1\ninterface Po7\n   mtu 5' })).toBe(
    'version 17\n!\ninterface Gi1\n mtu 9\n!\ninterface Po7\n mtu 5\nntp server a\nend',
  );
});

test('fields of a block; a port without link stays so; blocks that come and go', () => {
  const recorded =
    'Name: Gi1\nOperational Mode: down\nOther: x\nAccess Mode VLAN: 1 (default)\n\nName: Gi2\nOther: y\n';
  const block = (name: string, mode: string, vlan: number): string =>
    `Name: ${name}\nOperational Mode: ${mode}\nAccess Mode VLAN: ${vlan}\n`;
  const before = `${block('Gi1', 'access', 1)}\n${block('Gi2', 'access', 1)}`;
  const after = `${block('Gi1', 'trunk', 7)}\n${block('Po7', 'trunk', 1)}`;
  expect(editRecorded(recorded, { before, after })).toBe(
    `Name: Gi1\nOperational Mode: down\nOther: x\nAccess Mode VLAN: 7\n${block('Po7', 'trunk', 1).trim()}`,
  );
});

test('rows by their number, with what goes on below them; of a port’s row its VLAN and mode alone', () => {
  const recorded =
    'VLAN Name    Status\n* 1  default active  Gi1,\n                     Gi2\nM 7  blue    active  Gi3,\n                     Gi4\n 9  x';
  expect(editRecorded(recorded, { before: '1 a\n7 b', after: '1 a\n8 c' })).toBe(
    'VLAN Name    Status\n* 1  default active  Gi1,\n                     Gi2\n 9  x\n8 c',
  );
  expect(
    editRecorded('1/1/1   7       access SFP28   yes up', {
      before: '1/1/1 7 access X yes up',
      after: '1/1/1 -- routed X yes up',
    }),
  ).toBe('1/1/1   --      routed SFP28   yes up');
});

test('a tree’s leaves, and lines of `display set`', () => {
  const edited = editRecorded('{"a":{"b":1,"own":[2]},"c":{}}', {
    before: '{"a":{"b":1},"c":{}}',
    after: '{"a":{"b":3},"d":4}',
  });
  expect(JSON.parse(edited)).toEqual({ a: { b: 3, own: [2] }, d: 4 });
  expect(editRecorded('set a\nset own\nset b\n', { before: 'set a\nset b', after: 'set b\nset c' })).toBe(
    'set own\nset b\nset c',
  );
});
