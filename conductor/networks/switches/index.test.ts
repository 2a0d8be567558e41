import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { findSwitchDriver, switchDriverNames, switchDrivers } from '#conductor/networks/switches/index.ts';

describe('the table of switch drivers', () => {
  test('lists every driver in the folder', async () => {
    const folder = new URL('.', import.meta.url);
    const files = (await readdir(folder)).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
    const sources = await Promise.all(files.map((name) => readFile(new URL(name, folder), 'utf8')));
    const exported = sources.flatMap((source) => [...source.matchAll(/^export const (\w+): SwitchDriver\b/gm)]);
    expect(exported.length).toBeGreaterThan(0);
    expect(new Set(exported.map((match) => match[1]))).toEqual(
      new Set(switchDriverNames.map((name) => `${name}Driver`)),
    );
  });

  test('finds by name', () => {
    expect(switchDrivers.map((driver) => findSwitchDriver(driver.name))).toEqual(switchDrivers);
    expect(() => findSwitchDriver('cisco')).toThrow('switch driver cisco does not exist; drivers are: ovs');
  });
});
