import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { renderDnsmasqConfig } from '#conductor/boot/dnsmasq-config.ts';
import { run } from '#shared/process/run.ts';

test('dnsmasq itself (Debian: dnsmasq-base) takes what is rendered', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'baton-dnsmasq-'));
  try {
    const file = join(folder, 'dnsmasq.conf');
    const common = {
      interface: 'lo',
      ranges: [{ first: '10.1.0.100', last: '10.1.0.200' }],
      tftpDirectory: folder,
      publicUrl: 'http://10.1.0.1:6385',
      leaseFile: join(folder, 'leases'),
    };
    const whole = {
      ...common,
      ranges: [{ first: '10.1.0.100', last: '10.1.0.200', netmask: '255.255.255.0', leaseSeconds: 600 }],
      hosts: [{ mac: '52:54:00:12:34:56', address: '10.1.0.50' }],
      router: '10.1.0.1',
      nameServers: ['10.1.0.2', '10.1.0.3'],
      advertisePrefix: 'fd00:1::',
      pidFile: join(folder, 'pid'),
    };
    for (const options of [common, whole]) {
      await writeFile(file, renderDnsmasqConfig(options));
      const { stderr } = await run('dnsmasq', ['--test', `--conf-file=${file}`]);
      expect(stderr).toContain('syntax check OK');
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
