import {
  type DeckhandMetadata,
  type LayeringAction,
  RenderError,
} from '#conductor/sites/rendering/deckhand-metadata.ts';
import { parseJsonPath, valueAt, withoutValueAt, withValueAt } from '#conductor/sites/rendering/json-path.ts';
import { isMapping, type SiteDocument } from '#conductor/sites/site.ts';
import { nameSome } from '#shared/words.ts';

/** A document whose metadata could be read. */
export interface LayeredDocument extends DeckhandMetadata {
  readonly document: SiteDocument;
}

const policySchema = 'deckhand/LayeringPolicy/v1';

/** The layers of the site's policy, the topmost first; `undefined` without a policy. @throws RenderError */
export function readLayerOrder(documents: readonly SiteDocument[]): readonly string[] | undefined {
  const [policy, another] = documents.filter(({ schema }) => schema === policySchema);
  if (!policy) return undefined;
  if (another) {
    const names = [policy.name, another.name].sort().join(' and ');
    throw new RenderError('DuplicateLayeringPolicy', `a site has one ${policySchema}; there are ${names}`);
  }
  const order = isMapping(policy.data) ? policy.data['layerOrder'] : undefined;
  if (Array.isArray(order) && order.every((layer) => typeof layer === 'string')) return order;
  throw new RenderError('InvalidDocumentFormat', `data.layerOrder of ${policy.name} must be a list of layers' names`);
}

/**
 * @param warn is given why a document with a `parentSelector` has no parent
 * @returns the document's parent; `undefined` = it has none. @throws RenderError
 */
type ChooseParent = (of: LayeredDocument, warn: (reason: RenderError) => void) => LayeredDocument | undefined;

/**
 * Makes the choice of parents as Deckhand has it: of the same schema, with all labels of the selector, in the nearest
 * layer above that has any.
 */
export function newChooseParent(
  documents: readonly LayeredDocument[],
  order: readonly string[] | undefined,
): ChooseParent {
  const keyOf = (schema: string, layer: string, label: string, value: unknown): string =>
    JSON.stringify([schema, layer, label, value]);
  const byLabel = new Map<string, LayeredDocument[]>();
  for (const each of documents) {
    if (each.layer === undefined) continue;
    for (const [label, value] of Object.entries(each.labels)) {
      const key = keyOf(each.document.schema, each.layer, label, value);
      const same = byLabel.get(key);
      if (same) same.push(each);
      else byLabel.set(key, [each]);
    }
  }
  return ({ document, layer, parentSelector }, warn) => {
    if (!parentSelector) return undefined;
    const place = layer === undefined ? -1 : requireOrder(order).indexOf(layer);
    if (place === -1) {
      const message = `its layer ${layer ?? '(none)'} is none of the LayeringPolicy's: ${requireOrder(order).join(', ')}`;
      throw new RenderError('InvalidDocumentLayer', message, 'metadata.layeringDefinition.layer');
    }
    const wanted = Object.entries(parentSelector);
    const [[label, value] = ['', '']] = wanted;
    for (const above of requireOrder(order).slice(0, place).toReversed()) {
      const found = (byLabel.get(keyOf(document.schema, above, label, value)) ?? []).filter(({ labels }) =>
        wanted.every(([key, text]) => labels[key] === text),
      );
      if (found.length > 1) throw severalParents(found, above);
      if (found[0]) return found[0];
    }
    const labels = wanted.map(([key, text]) => `${key}: ${text}`).join(', ');
    const message = `no ${document.schema} in a layer above ${layer} has the labels ${labels}: nothing is inherited`;
    warn(new RenderError('MissingDocumentParent', message, 'metadata.layeringDefinition.parentSelector'));
    return undefined;
  };
}

function requireOrder(order: readonly string[] | undefined): readonly string[] {
  if (order) return order;
  const message = `it has a parentSelector, and the site has no ${policySchema} with the layers' order`;
  throw new RenderError('LayeringPolicyNotFound', message);
}

function severalParents(found: readonly LayeredDocument[], layer: string): RenderError {
  const names = nameSome(found.map(({ document }) => document.name).sort(), 5);
  const message = `${found.length} documents of layer ${layer} may be its parent (${names}); its labels must choose one`;
  return new RenderError('IndeterminateDocumentParent', message, 'metadata.layeringDefinition.parentSelector');
}

/**
 * Which documents are replaced, and by which: `replacement: true` takes the place of its parent, of the same name.
 * @returns what is wrong with a replacement, or with a child of its parent's name, by document
 */
export function findReplacements(
  parents: ReadonlyMap<LayeredDocument, LayeredDocument>,
  documents: readonly LayeredDocument[],
): {
  /** Documents that are replaced, each with its replacement. */
  readonly replacedBy: ReadonlyMap<LayeredDocument, LayeredDocument>;
  readonly errors: ReadonlyMap<LayeredDocument, RenderError>;
} {
  const replacedBy = new Map<LayeredDocument, LayeredDocument>();
  const errors = new Map<LayeredDocument, RenderError>();
  const byParent = Map.groupBy(
    documents.filter((each) => each.replacement),
    (each) => parents.get(each),
  );
  const refuse = (each: LayeredDocument, message: string): void => {
    errors.set(each, new RenderError('InvalidDocumentReplacement', message, 'metadata.replacement'));
  };
  for (const each of documents) {
    const parent = parents.get(each);
    const isNamesake = parent?.document.name === each.document.name;
    if (!each.replacement) {
      if (isNamesake) refuse(each, `it has its parent's name: say replacement: true, or give it another`);
    } else if (!parent) refuse(each, 'a replacement needs a parent, whose place it takes');
    else if (!isNamesake) refuse(each, `a replacement must have the name of its parent, ${parent.document.name}`);
    else if (parent.replacement) refuse(each, 'its parent is a replacement itself, which can not be replaced');
    else if ((byParent.get(parent)?.length ?? 0) > 1) refuse(each, 'its parent is replaced by another document, too');
    else replacedBy.set(parent, each);
  }
  return { replacedBy, errors };
}

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
