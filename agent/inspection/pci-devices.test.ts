import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readPciDevices } from '#agent/inspection/inspect.ts';

test('reads /sys as ironic-python-agent does', async () => {
  const sys = await mkdtemp(join(tmpdir(), 'baton-pci-'));
  try {
    expect(await readPciDevices(sys)).toEqual([]);
    const device = join(sys, 'bus/pci/devices/0000:00:01.0');
    await mkdir(device, { recursive: true });
    const files = {
      vendor: '0x1af4\n',
      device: '0x1045\n',
      class: '0xffff00\n',
      revision: '0x01\n',
      numa_node: '-1\n',
    };
    for (const [name, content] of Object.entries(files)) await writeFile(join(device, name), content);
    expect(await readPciDevices(sys)).toEqual([
      {
        vendor_id: '1af4',
        product_id: '1045',
        class: 'ffff00',
        revision: '01',
        bus: '0000:00:01.0',
        numa_node_id: '-1',
      },
    ]);
  } finally {
    await rm(sys, { recursive: true });
  }
});
