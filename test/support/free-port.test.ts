import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { run } from '#shared/process/run.ts';
import { claimPort, freePort } from '#test/support/free-port.ts';

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
