import type { JsonObject } from '#conductor/model/json-object.ts';

/** Name of an instance, in the node's field and, for clients from before 1.104, in `instance_info.display_name`. */
export interface InstanceNames {
  readonly instance_name: string | null;
  readonly instance_info: JsonObject;
}

const longest = 255;

/**
 * Keeps the two names in step: the one that is changed is the other's, the field's first. A display name does not replace
 * another name that somebody has given the field. Pure.
 * @param before `undefined` for a new node
 */
export function inStep(after: InstanceNames, before?: InstanceNames): InstanceNames {
  const { instance_name: name, instance_info: info } = after;
  const [was, wasShown] = [before?.instance_name ?? null, before?.instance_info['display_name']];
  const shown = info['display_name'];
  if (name !== was) {
    const { display_name: _, ...rest } = info;
    return { instance_name: name, instance_info: name === null ? rest : { ...rest, display_name: name } };
  }
  const isName = typeof shown === 'string' && shown !== '' && shown.length <= longest;
  const follows = name === null || name === wasShown;
  return isName && shown !== wasShown && follows ? { instance_name: shown, instance_info: info } : after;
}
