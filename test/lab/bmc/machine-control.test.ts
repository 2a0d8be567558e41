import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { remoteMachine, serveMachine } from '#test/lab/bmc/machine-control.ts';
import { createMemoryMachine, type MemoryMachine, type SimulatedMachine } from '#test/simulators/redfish/machine.ts';

let directory: string;
let machine: MemoryMachine;
let remote: SimulatedMachine;
let stop: () => Promise<void>;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'machine-control-'));
  machine = createMemoryMachine();
  const socket = join(directory, 'machine');
  stop = await serveMachine(machine, socket);
  remote = remoteMachine(socket);
});
afterEach(async () => {
  await stop();
  rmSync(directory, { recursive: true });
});

test('power and boot order go through the socket', async () => {
  expect(await remote.getPower()).toBe('off');
  await remote.setBoot({ device: 'pxe', once: true, mode: 'bios' });
  expect(await remote.getBoot()).toEqual({ device: 'pxe', once: true, mode: 'bios' });
  await remote.setPower('on');
  expect(await remote.getPower()).toBe('on');
  expect(machine.actions).toEqual(['on']);
});

test('a failure of the machine reaches the BMC', async () => {
  await stop();
  const broken = { ...machine, setPower: () => Promise.reject(new Error('the fuse is blown')) };
  const socket = join(directory, 'broken');
  stop = await serveMachine(broken, socket);
  await expect(remoteMachine(socket).setPower('on')).rejects.toThrow('the fuse is blown');
});
