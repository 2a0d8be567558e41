import { createApiClient } from '#agent/api/api-client.ts';
import { silentLog } from '#shared/log.ts';

/**
 * A process of its own, for its CAs are told at its start (`NODE_EXTRA_CA_CERTS`, as the ramdisk has it): the agent's own
 * client asks the API at argv[2], and prints the status of a lookup.
 */
const api = createApiClient({
  urls: [process.argv[2] ?? ''],
  insecure: false,
  requestTimeoutMs: 20_000,
  log: silentLog,
});
const answer = await api.request({
  method: 'GET',
  path: '/v1/lookup?addresses=52:54:00:00:00:01',
  version: await api.version(),
});
process.stdout.write(`${answer.status}\n`);
await api.close();
