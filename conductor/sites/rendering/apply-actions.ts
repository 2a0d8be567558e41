import type { LayeringAction } from '#conductor/sites/rendering/deckhand-metadata.ts';
import { parseJsonPath, valueAt, withoutValueAt, withValueAt } from '#conductor/sites/rendering/json-path.ts';
import { RenderError } from '#conductor/sites/rendering/render-error.ts';
import { isMapping } from '#conductor/sites/site-document.ts';

/**
 * A child's data: the parent's rendered data, changed by the child's actions one after another. Without any the child's
 * stands for itself, as in Deckhand. `merge` and `replace` make what the parent lacks. Pure.
 * @throws RenderError `MissingDocumentKey` for what the child is to give, or the parent to lose, and has not
 */
export function applyActions(parent: unknown, child: unknown, actions: readonly LayeringAction[]): unknown {
  if (actions.length === 0) return child;
  return actions.reduce((data, action, index) => {
    const at = `metadata.layeringDefinition.actions[${index}]`;
    // as Deckhand takes it: from the document, or from its data
    const path = parseJsonPath(action.path.replace(/^\$?\.data(?=[.[]|$)/, '') || '.');
    const own = path.length === 0 ? (child ?? {}) : valueAt(child, path);
    const inherited = valueAt(data, path);
    const missing = (where: string): RenderError =>
      new RenderError('MissingDocumentKey', `${action.method} needs ${action.path}, which ${where} has not`, at);
    if (action.method === 'delete') {
      if (inherited === undefined && path.length > 0) throw missing('the parent');
      return withoutValueAt(data, path);
    }
    if (own === undefined) throw missing('the document');
    return withValueAt(data, path, action.method === 'merge' ? mergeValues(inherited, own) : own);
  }, parent);
}

/** Mappings unite, the child's values first; a child's list or single value replaces the parent's. */
function mergeValues(parent: unknown, child: unknown): unknown {
  if (!isMapping(parent) || !isMapping(child)) return child;
  const merged = Object.entries(child).map(([key, value]) => [
    key,
    Object.hasOwn(parent, key) ? mergeValues(parent[key], value) : value,
  ]);
  return { ...parent, ...(Object.fromEntries(merged) as object) };
}
