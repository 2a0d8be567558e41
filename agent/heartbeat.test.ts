import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ApiClient, createApiClient } from '#agent/api/api-client.ts';
import { sendHeartbeat } from '#agent/heartbeat.ts';
import type { FoundNode } from '#agent/lookup.ts';
import {
  type FakeConductor,
  fakeNodeUuid,
  fakeToken,
  ironicFault,
  startFakeConductor,
} from '#agent/testing/fake-conductor.ts';
import { agentVersion } from '#agent/version.ts';
import { silentLog } from '#shared/log.ts';
import { Heartbeat } from '#shared/wire/agent-calls.ts';

const node: FoundNode = {
  uuid: fakeNodeUuid,
  properties: {},
  instanceInfo: {},
  driverInternalInfo: {},
  heartbeatTimeoutMs: 300_000,
  token: fakeToken,
  imagePolicy: {},
  baton: undefined,
  apiVersion: 96,
};
const announced = { callbackUrl: 'https://192.0.2.10:9999', certificatePem: 'PEM' };

describe('sendHeartbeat', () => {
  let conductor: FakeConductor;
  let api: ApiClient;

  beforeEach(async () => {
    conductor = await startFakeConductor();
    api = createApiClient({ urls: [conductor.url], insecure: false, requestTimeoutMs: 60_000, log: silentLog });
  });
  afterEach(async () => {
    await api.close();
    await conductor.close();
  });

  test('tells where the agent is and how to trust it', async () => {
    await sendHeartbeat(api, node, announced);
    const [beat] = conductor.seen;
    expect(beat).toMatchObject({ method: 'POST', path: `/v1/heartbeat/${fakeNodeUuid}`, version: '1.68' });
    expect(Heartbeat.parse(beat?.body)).toEqual({
      callback_url: 'https://192.0.2.10:9999',
      agent_version: agentVersion,
      agent_token: fakeToken,
      agent_verify_ca: 'PEM',
    });
  });

  test.each([
    [67, '1.67', ['callback_url', 'agent_version', 'agent_token']],
    [61, '1.61', ['callback_url', 'agent_version']],
    [35, '1.35', ['callback_url']],
  ])('leaves out what API 1.%i does not know', async (apiVersion, header, fields) => {
    await sendHeartbeat(api, { ...node, apiVersion }, announced);
    expect(conductor.seen[0]?.version).toBe(header);
    expect(Object.keys(conductor.seen[0]?.body ?? {})).toEqual(fields);
  });

  test.each([
    [409, 'Node is locked', 'conflict'],
    [400, 'Invalid or missing agent token received.', 'unauthorized'],
    [400, 'Agent token is required for heartbeat processing.', 'unauthorized'],
    [400, 'Detected change in ramdisk provided "callback_url"', 'agent_error'],
    [404, 'Node could not be found.', 'agent_error'],
    [503, 'no free worker', 'agent_error'],
    [200, 'a proxy', 'agent_error'],
  ])('%i %s is %s', async (status, text, code) => {
    conductor.answerNext(/heartbeat/, ironicFault(status, text));
    await expect(sendHeartbeat(api, node, announced)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(`${status}: ${text}`) as unknown,
    });
  });

  test('no conductor is unavailable', async () => {
    const nobody = createApiClient({
      urls: ['http://127.0.0.1:1'],
      insecure: false,
      requestTimeoutMs: 60_000,
      log: silentLog,
    });
    await expect(sendHeartbeat(nobody, node, announced)).rejects.toMatchObject({ code: 'unavailable' });
    await nobody.close();
  });
});
