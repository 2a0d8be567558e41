import { expect, test } from 'vitest';
import { assembleForNode, livesOnRaid } from '#agent/raid/run-raid-step.ts';
import type { Run } from '#shared/process/run.ts';

const software = { logical_disks: [{ controller: 'software' }] };
const uuid = '3aaa0122:29827cfa:5331ad66:ca767371';
const node = (fields: object = {}) => ({ properties: {}, instance_info: {}, ...fields });

test('by its configuration or by a hint with the UUID of an array', () => {
  expect(livesOnRaid(node({ raid_config: software }))).toBe(true);
  expect(livesOnRaid(node({ properties: { root_device: { wwn: uuid } } }))).toBe(true);
  expect(livesOnRaid(node({ instance_info: { root_device: { wwn: `s== ${uuid}` } } }))).toBe(true);
  expect(livesOnRaid(node({ raid_config: {}, properties: { root_device: { wwn: '0x5000c500' } } }))).toBe(false);
  expect(livesOnRaid(node({ properties: { root_device: 'x' } }))).toBe(false);
});

test('arrays of others stay apart', async () => {
  const seen: string[] = [];
  const run: Run = async (command) => {
    seen.push(command);
    return { stdout: '', stderr: '', exitCode: 0, durationMs: 1 };
  };
  await assembleForNode(run, node());
  expect(seen).toEqual([]);
  await assembleForNode(run, node({ raid_config: software }));
  expect(seen).toEqual(['udevadm', 'mdadm', 'udevadm']);
});
