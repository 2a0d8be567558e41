import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import type { ApiTokens } from '#conductor/auth/api-tokens.ts';

/** Whom tests log in as: system-wide, or in a project. */
export const accounts = {
  'system-admin': { role: 'admin' },
  // tempest takes any administrator for one of its two
  'second-admin': { role: 'admin' },
  'system-reader': { role: 'reader' },
  'project-admin': { role: 'admin', project: 'tests' },
  'project-manager': { role: 'member', project: 'tests' },
  'project-member': { role: 'member', project: 'tests' },
  'project-reader': { role: 'reader', project: 'tests' },
} as const;

export const region = 'RegionOne';
export const password = 'open sesame';

const Login = z.object({
  auth: z.object({
    identity: z.object({
      password: z.object({ user: z.object({ name: z.enum(Object.keys(accounts) as (keyof typeof accounts)[]) }) }),
    }),
  }),
});

export interface Keystone {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Starts as much of Keystone as clients need to find Ironic and to log in: Baton's own tokens, and a catalog of one
 * service.
 */
export async function startKeystone(tokens: ApiTokens, ironic: string): Promise<Keystone> {
  const byName = new Map<string, string>();
  for (const [name, description] of Object.entries(accounts)) {
    byName.set(name, (await tokens.create({ name, ...description })).token);
  }
  const server = createServer((request, response) => {
    const answer = (status: number, body: unknown, headers: Record<string, string> = {}) => {
      response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body));
    };
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.method !== 'POST' || request.url !== '/v3/auth/tokens') return answer(404, { error: { code: 404 } });
      const login = Login.safeParse(JSON.parse(Buffer.concat(chunks).toString()));
      if (!login.success) return answer(401, { error: { code: 401, message: login.error.message } });
      const { name } = login.data.auth.identity.password.user;
      answer(201, tokenBody(name, ironic), { 'X-Subject-Token': byName.get(name) ?? '' });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v3`,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

function tokenBody(name: keyof typeof accounts, ironic: string) {
  const account = accounts[name];
  const domain = { id: 'default', name: 'Default' };
  const endpoints = ['public', 'internal', 'admin'].map((face) => ({
    id: face,
    interface: face,
    region,
    region_id: region,
    url: ironic,
  }));
  return {
    token: {
      methods: ['password'],
      user: { id: name, name, domain },
      roles: [{ id: account.role, name: account.role }],
      ...('project' in account
        ? { project: { id: account.project, name: account.project, domain } }
        : { system: { all: true } }),
      catalog: [{ id: 'ironic', type: 'baremetal', name: 'ironic', endpoints }],
      issued_at: '2026-01-01T00:00:00.000000Z',
      expires_at: '2099-01-01T00:00:00.000000Z',
    },
  };
}
