import { expect, test } from 'vitest';
import { statusError } from '#conductor/drivers/redfish/client/errors.ts';
import type { RedfishAnswer } from '#conductor/drivers/redfish/client/transport.ts';
import { endLeftSession } from '#conductor/drivers/redfish/left-session.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { createLog } from '#shared/log.ts';

const session = { origin: 'https://bmc', path: '/redfish/v1/SessionService/Sessions/3', username: 'admin' };

/** Ends the session at a BMC that shows it so, and answers its DELETE so. */
async function endAt(shown: unknown, deleting?: AppError) {
  let log = '';
  const asked: string[] = [];
  const request = async ({ method }: { method: string }): Promise<RedfishAnswer> => {
    asked.push(method);
    const failure = method === 'DELETE' ? deleting : shown;
    if (failure instanceof AppError) throw failure;
    return { status: 200, headers: {}, body: shown };
  };
  const client = { request, log: createLog({ component: 'test', only: { write: (line) => void (log += line) } }) };
  const outcome = await endLeftSession(client, session, new AbortController().signal);
  return { outcome, asked: asked.join(' '), log };
}

const answered = (status: number, isLoginTaken = false) =>
  statusError('GET', status, { body: undefined, username: session.username, isLoginTaken });

test('what the BMC still shows as ours is ended; a session that has its id now is not', async () => {
  expect(await endAt({ UserName: 'Admin' })).toMatchObject({ outcome: 'ended', asked: 'GET DELETE' });
  expect(await endAt({ UserName: 'operator' })).toMatchObject({ outcome: 'ended', asked: 'GET' });
  expect(await endAt(answered(404))).toMatchObject({ outcome: 'ended', asked: 'GET' });
});

test.for([null, {}, { UserName: null }, { UserName: 7 }, 'a page'])('of %j nobody knows whose it is', async (shown) => {
  const { outcome, asked, log } = await endAt(shown);
  expect({ outcome, asked }).toEqual({ outcome: 'refused', asked: 'GET' });
  expect(log).toContain('the BMC does not show whose session it is');
});

test('a BMC that does not let us end it is said, once', async () => {
  const lacksRight = answered(401, true);
  for (const refusal of [...[400, 403, 405, 501].map((status) => answered(status)), lacksRight]) {
    const { outcome, log } = await endAt({ UserName: 'admin' }, refusal);
    expect(outcome).toBe('refused');
    expect(log).toContain('it ends by the timeout of the BMC');
    expect(log).toContain(session.path);
  }
});

test('one that is away, or knows another password, is asked again', async () => {
  const away = new AppError('unavailable', 'the BMC is busy', { details: { status: 503 } });
  for (const failure of [away, answered(401), new AppError('timeout', 'no answer')]) {
    expect(await endAt(failure)).toMatchObject({ outcome: 'unreached', log: '' });
    expect(await endAt({ UserName: 'admin' }, failure)).toMatchObject({ outcome: 'unreached', log: '' });
  }
});
