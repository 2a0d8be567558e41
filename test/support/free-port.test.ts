import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { run } from '#shared/process/run.ts';
import { claimPort, freePort, portsOutside } from '#test/support/free-port.ts';

test('no port is given twice', async () => {
  const ports = await Promise.all(Array.from({ length: 300 }, freePort));
  expect(new Set(ports).size).toBe(300);
});

test('nor to another process, until it is released', async () => {
  const { port, release } = await claimPort();
  const file = JSON.stringify(new URL('free-port.ts', import.meta.url).href);
  const script = `const { claimPort } = await import(${file});
    await claimPort({ from: ${port}, below: ${port + 1} }).then(({ port }) => console.log(port), ({ code }) => console.log(code));`;
  const another = async () => (await run(process.execPath, ['--input-type=module', '--eval', script])).stdout.trim();
  expect(await another()).toBe('busy');
  await release();
  expect(await another()).toBe(String(port));
});

test.each([
  ['as it is', '32768\t60999\n', { from: 20_000, below: 32_768 }],
  ['that begins lower', '16000 65535', { from: 3232, below: 16_000 }],
  ['below which there is little', '1500 40000', { from: 40_001, below: 52_769 }],
  ['above which there is little', '2500 64000', { from: 1024, below: 2500 }],
  ['of nearly all', '1024 65000', { from: 20_000, below: 32_768 }],
])("none is of the kernel's own range, %s", (_, range, outside) => {
  expect(portsOutside(range)).toEqual(outside);
});

test('a range that is none is told', () => {
  expect(() => portsOutside('')).toThrow(/has no range of ports: ""/);
});

test('what is claimed is outside the range that this machine has', async () => {
  const { from, below } = portsOutside(await readFile('/proc/sys/net/ipv4/ip_local_port_range', 'utf8'));
  const { port, release } = await claimPort();
  await release();
  expect(port).toBeGreaterThanOrEqual(from);
  expect(port).toBeLessThan(below);
});

test('one that somebody listens on is none', async () => {
  const { port, release } = await claimPort();
  await release();
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(port, resolve);
  });
  await expect(claimPort({ from: port, below: port + 1 })).rejects.toMatchObject({ code: 'busy' });
  server.close();
});
