import { type ApiAnswer, openTestApi, type TestApi } from '#test/support/test-api.ts';

/** Callers, each with a token. */
export type Who = keyof typeof callers;
const callers = {
  admin: { role: 'admin' },
  member: { role: 'member' },
  reader: { role: 'reader' },
  'owner admin': { role: 'admin', project: 'ours' },
  'owner member': { role: 'member', project: 'ours' },
  'owner reader': { role: 'reader', project: 'ours' },
  'lessee admin': { role: 'admin', project: 'lessee' },
  'lessee member': { role: 'member', project: 'lessee' },
  'lessee reader': { role: 'reader', project: 'lessee' },
  other: { role: 'admin', project: 'other' },
} as const;

export const everybody = Object.keys(callers) as Who[];
export const macOfMine = '52:54:00:00:00:01';

/** The real app with tokens; node `mine` is the project's `ours`, with a lessee, and `foreign` the project's `other`. */
export interface ApiWithCallers {
  readonly api: TestApi;
  readonly as: (who: Who, method: string, path: string, body?: unknown, version?: string) => Promise<ApiAnswer>;
  readonly headersOf: (who: Who) => { readonly Authorization: string };
}

export async function openApiWithCallers(): Promise<ApiWithCallers> {
  const api = await openTestApi({ settings: { BATON_AUTH: 'token', BATON_CONSOLE: 'true' } });
  const tokens = new Map<string, string>();
  for (const [who, description] of Object.entries(callers)) {
    const { token } = await api.context.auth.tokens.create({ name: who.replace(' ', '-'), ...description });
    tokens.set(who, token);
  }
  const headersOf = (who: Who) => ({ Authorization: `Bearer ${tokens.get(who)}` });
  const as: ApiWithCallers['as'] = (who, method, path, body, version) =>
    api.call(method, path, body, version, headersOf(who));
  for (const [name, owner, lessee, address] of [
    ['mine', 'ours', 'lessee', macOfMine],
    ['foreign', 'other', null, '52:54:00:00:00:02'],
  ] as const) {
    await as('admin', 'POST', '/v1/nodes', {
      name,
      driver: 'fake-hardware',
      owner,
      lessee,
      // stays, no matter who may delete it
      protected: true,
      driver_info: { redfish_address: 'https://bmc.example' },
    });
    const { uuid } = await as('admin', 'GET', `/v1/nodes/${name}`);
    await as('admin', 'POST', '/v1/ports', { node_uuid: uuid, address });
    await as('admin', 'POST', '/v1/portgroups', { node_uuid: uuid, name: `${name}-group` });
    await as('admin', 'POST', '/v1/volume/connectors', { node_uuid: uuid, type: 'ip', connector_id: `of-${name}` });
    await as('admin', 'POST', '/v1/volume/targets', {
      node_uuid: uuid,
      volume_type: 'iscsi',
      volume_id: `of-${name}`,
      boot_index: 0,
      properties: { target_portal: '192.0.2.1:3260', target_iqn: 'iqn.2026-11.example:one', target_lun: 0 },
    });
  }
  return { api, as, headersOf };
}
