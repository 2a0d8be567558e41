import type { ApiClient, Json } from '#conductor/cli/api-client.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** @param ident as it stands in a path. @throws AppError `not_found` in the conductor's words */
export async function getNode(client: ApiClient, ident: string): Promise<Json> {
  const node = await client.call('GET', `/v1/nodes/${ident}`);
  if (!node) throw noNode(ident);
  return node;
}

/** @param ident as it stands in a path */
export function noNode(ident: string): AppError {
  return new AppError('not_found', `Node ${decodeURIComponent(ident)} could not be found.`);
}
