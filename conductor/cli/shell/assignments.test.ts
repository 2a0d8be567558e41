import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readAssignments, toObject, toPatch } from '#conductor/cli/shell/assignments.ts';

test('text, JSON and files become a patch, or an object', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'baton-assign-'));
  try {
    await writeFile(join(directory, 'password'), 'pa=ss\n');
    const assignments = await readAssignments([
      'owner=team=a',
      'driver_info.redfish_password=@' + join(directory, 'password'),
      'driver_info.redfish_username=admin',
      'properties.cpus:=8',
      'extra.a/b=',
    ]);
    expect(toPatch(assignments, ['extra.rack', 'lessee'])).toEqual([
      { op: 'add', path: '/owner', value: 'team=a' },
      { op: 'add', path: '/driver_info/redfish_password', value: 'pa=ss' },
      { op: 'add', path: '/driver_info/redfish_username', value: 'admin' },
      { op: 'add', path: '/properties/cpus', value: 8 },
      { op: 'add', path: '/extra/a~1b', value: '' },
      { op: 'remove', path: '/extra/rack' },
      { op: 'remove', path: '/lessee' },
    ]);
    expect(toObject(assignments)).toEqual({
      owner: 'team=a',
      driver_info: { redfish_password: 'pa=ss', redfish_username: 'admin' },
      properties: { cpus: 8 },
      extra: { 'a/b': '' },
    });
  } finally {
    await rm(directory, { recursive: true });
  }
});

test('what is wrong is named without its value', async () => {
  await expect(readAssignments(['Password=secret'])).rejects.toThrow(/^Password=…: it must be FIELD=TEXT/);
  await expect(readAssignments(['driver_info:={secret'])).rejects.toThrow(/^driver_info:=…: it must be JSON$/);
  await expect(readAssignments(['owner'])).rejects.toThrow('owner: it must be');
  await expect(readAssignments(['owner=@/nowhere'])).rejects.toThrow('owner: read /nowhere');
});

test('a secret among the arguments is warned of, with the safe way and without its value', async () => {
  const notices: string[] = [];
  const notify = (line: string) => void notices.push(line);
  const directory = await mkdtemp(join(tmpdir(), 'baton-assign-'));
  try {
    await writeFile(join(directory, 'password'), 'hunter2\n');
    const safe = ['username=root', `password=@${join(directory, 'password')}`, 'password=', 'driver_info.fake_id=n1'];
    await readAssignments(safe, { notify });
    expect(notices).toEqual([]);
  } finally {
    await rm(directory, { recursive: true });
  }
  const bare = ['password=hunter2', 'driver_info:={"ipmi_password": "hunter2", "ipmi_username": "root"}'];
  expect(await readAssignments(bare, { notify })).toHaveLength(2);
  expect(notices).toEqual([
    expect.stringMatching(/^password: it stands among the arguments.*; password=@FILE takes it .*, password=@- from/),
    expect.stringMatching(/^driver_info\.ipmi_password: .*; driver_info\.ipmi_password=@FILE takes/),
  ]);
  expect(notices.join()).not.toContain('hunter2');
});
