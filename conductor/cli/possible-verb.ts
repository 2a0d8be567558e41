import type { Json } from '#conductor/cli/api-client.ts';
import { cell } from '#conductor/cli/print.ts';
import { legalVerbs, type ProvisionVerb, provisionStates } from '#conductor/model/provision-states.ts';

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
