import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { overdueTimers } from '#shared/clock.ts';

test('an answer that came in during a pause is looked at after the timers that ran out in it', async () => {
  const server = createServer((socket) => socket.end('answer'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || !address) throw new Error('no port');
  const client = connect(address.port, '127.0.0.1');
  await once(client, 'connect');
  const deadline = new AbortController();
  setTimeout(() => deadline.abort(), 20);
  const answered = once(client, 'data');
  const until = performance.now() + 60;
  while (performance.now() < until); // the pause
  await answered;
  await overdueTimers();
  expect(deadline.signal.aborted).toBe(true);
  client.destroy();
  server.close();
});
