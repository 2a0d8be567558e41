import type { Json } from '#conductor/cli/api-client.ts';
import type { CommandContext } from '#conductor/cli/command.ts';
import { cell } from '#conductor/cli/print.ts';
import { legalVerbs, type ProvisionVerb, provisionStates } from '#conductor/nodes/provision-states.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** @param ident as it stands in a path. @throws AppError `not_found` */
export async function getNode(context: CommandContext, ident: string): Promise<Json> {
  const node = await context.client.call('GET', `/v1/nodes/${ident}`);
  if (node) return node;
  throw new AppError('not_found', `Node ${decodeURIComponent(ident)} could not be found.`);
}

/** What a target is called on the command line. */
const wordOf: Readonly<Partial<Record<string, string>>> = { active: 'deploy' };

/**
 * Why the conductor would refuse to set the node off as it is now; `undefined` = it would not. Pure.
 * @param verb a target of the API
 * @param forRebuild what to say of a node whose image can be written again
 */
export function whyRefused(node: Json, verb: string, forRebuild: string): string | undefined {
  const name = cell(node['name'] ?? node['uuid']);
  const refused = `${wordOf[verb] ?? verb} would be refused`;
  const state = provisionStates.find((each) => each === node['provision_state']);
  const legal: readonly ProvisionVerb[] = state === undefined ? [] : legalVerbs(state);
  if (state !== undefined && !legal.some((each) => each === verb)) {
    return `node ${name} is ${state}: ${refused}; ${legal.includes('rebuild') ? forRebuild : words(legal)}`;
  }
  if (node['maintenance'] === true) return `node ${name} is in maintenance: ${refused}`;
  if (verb === 'rebuild' && node['protected'] === true) return `node ${name} is protected: ${refused}`;
  return undefined;
}

function words(legal: readonly ProvisionVerb[]): string {
  return `possible now: ${legal.join(', ') || 'nothing, until the work under way ends'}`;
}
