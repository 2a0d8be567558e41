import type { SiteFault } from '#conductor/model/site/site-report.ts';
import { findCycles, orderByNeeds } from '#conductor/sites/needs.ts';
import { RenderError, readDeckhandMetadata, type Substitution } from '#conductor/sites/rendering/deckhand-metadata.ts';
import { parseJsonPath, valueAt } from '#conductor/sites/rendering/json-path.ts';
import {
  applyActions,
  findReplacements,
  type LayeredDocument,
  newChooseParent,
  readLayerOrder,
} from '#conductor/sites/rendering/layering.ts';
import { extractPart, substitute } from '#conductor/sites/rendering/substitute.ts';
import { documentOf, type SiteDocument } from '#conductor/sites/site.ts';

const most = { values: 200_000, characters: 4 * 1024 ** 2, depth: 64 };

/**
 * Refuses what a few substitutions of substitutions have made too large to be kept or shown; an uploaded document has the
 * same limit of values and depth. @throws RenderError `TooLarge`
 */
function measureValue(root: unknown): void {
  const seen = { values: 0, characters: 0 };
  const look = (value: unknown, depth: number): void => {
    seen.values += 1;
    if (typeof value === 'string') seen.characters += value.length;
    if (seen.values > most.values || seen.characters > most.characters || depth > most.depth) {
      throw new RenderError('TooLarge', 'it has too many values, too much text, or is nested too deep');
    }
    if (typeof value !== 'object' || value === null) return;
    for (const each of Object.values(value)) look(each, depth + 1);
  };
  look(root, 0);
}

export interface RenderedDocuments {
  /** In the order given; without abstract documents, replaced ones, and those that have a fault. */
  readonly documents: readonly SiteDocument[];
  /** Each of one document; a Warning's is rendered all the same. */
  readonly faults: readonly SiteFault[];
}

/**
 * Documents as Deckhand renders them: each with what it has from its parent, then with the values of its substitutions.
 * Neither depends on the order in which documents are given. Pure.
 */
export function renderLayers(documents: readonly SiteDocument[]): RenderedDocuments {
  const errors = new Map<SiteDocument, RenderError>();
  const warnings = new Map<SiteDocument, RenderError[]>();
  const warn = (document: SiteDocument, reason: RenderError): void => {
    warnings.set(document, [...(warnings.get(document) ?? []), reason]);
  };
  const attempt = <T>(document: SiteDocument, work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof RenderError)) throw error;
      if (!errors.has(document)) errors.set(document, error);
      return undefined;
    }
  };
  const order = readOrder(documents, errors);
  const layered = documents.flatMap((document) => {
    const metadata = attempt(document, () => readDeckhandMetadata(document));
    return metadata ? [{ ...metadata, document }] : [];
  });
  const chooseParent = newChooseParent(layered, order);
  const parents = new Map<LayeredDocument, LayeredDocument>();
  for (const each of layered) {
    const parent = attempt(each.document, () => chooseParent(each, (reason) => warn(each.document, reason)));
    if (parent) parents.set(each, parent);
  }
  const replacements = findReplacements(parents, layered);
  for (const [{ document }, error] of replacements.errors) if (!errors.has(document)) errors.set(document, error);
  const { replacedBy } = replacements;
  // a replacement inherits from what it replaces, its other children from the replacement
  for (const [each, parent] of parents) {
    const replacement = replacedBy.get(parent);
    if (replacement && replacement !== each) parents.set(each, replacement);
  }
  const sources = new Map<string, LayeredDocument>();
  for (const each of layered) if (!replacedBy.has(each)) sources.set(nameKey(each.document), each);
  const sourceOf = ({ src }: Substitution): LayeredDocument | undefined => sources.get(nameKey(src));
  const rendered = new Map<LayeredDocument, unknown>();
  for (const each of orderByNeed(layered, { parents, sourceOf }, errors)) {
    if (errors.has(each.document)) continue;
    attempt(each.document, () => {
      const warnOne = (reason: RenderError): void => warn(each.document, reason);
      rendered.set(each, renderOne(each, { parent: parents.get(each), sourceOf, rendered, warn: warnOne }));
    });
  }
  return {
    documents: layered.flatMap((each) => {
      const isLeftOut = each.abstract || replacedBy.has(each) || !rendered.has(each);
      return isLeftOut ? [] : [{ ...each.document, data: rendered.get(each) }];
    }),
    faults: documents.flatMap((document) => {
      const error = errors.get(document);
      const warned = (warnings.get(document) ?? []).map((reason) => faultOf(document, reason, 'Warning'));
      return error ? [faultOf(document, error, 'Error'), ...warned] : warned;
    }),
  };
}

const nameKey = ({ schema, name }: { readonly schema: string; readonly name: string }): string =>
  JSON.stringify([schema, name]);

/** A policy that can't be read is reported at the policy, and once. */
function readOrder(
  documents: readonly SiteDocument[],
  errors: Map<SiteDocument, RenderError>,
): readonly string[] | undefined {
  try {
    return readLayerOrder(documents);
  } catch (error) {
    const policy = documents.find(({ schema }) => schema === 'deckhand/LayeringPolicy/v1');
    if (!(error instanceof RenderError) || !policy) throw error;
    errors.set(policy, error);
    return undefined;
  }
}

type SourceOf = (substitution: Substitution) => LayeredDocument | undefined;

/** Parents and sources before those that need them; the members of a cycle, and what needs them, are reported and left out. */
function orderByNeed(
  layered: readonly LayeredDocument[],
  {
    parents,
    sourceOf,
  }: { readonly parents: ReadonlyMap<LayeredDocument, LayeredDocument>; readonly sourceOf: SourceOf },
  errors: Map<SiteDocument, RenderError>,
): LayeredDocument[] {
  const indexes = new Map(layered.map((each, index) => [each, index]));
  const needs = layered.map((each) => {
    const needed = [parents.get(each), ...each.substitutions.map(sourceOf)];
    return [...new Set(needed.flatMap((other) => (other && indexes.get(other)) ?? []))];
  });
  for (const cycle of findCycles(needs)) {
    const names = [...cycle, ...cycle.slice(0, 1)].map((index) => layered[index]?.document.name).join(' → ');
    for (const index of cycle) {
      const document = layered[index]?.document;
      const error = new RenderError('SubstitutionDependencyCycle', `it needs itself: ${names}`);
      if (document && !errors.has(document)) errors.set(document, error);
    }
  }
  const ordered = orderByNeeds(needs);
  // what is left hangs off a cycle: rendering it shows which of its needs is missing
  return [...new Set([...ordered, ...needs.keys()])].flatMap((index) => layered[index] ?? []);
}

function renderOne(
  { document, actions, substitutions }: LayeredDocument,
  {
    parent,
    sourceOf,
    rendered,
    warn,
  }: {
    readonly parent: LayeredDocument | undefined;
    readonly sourceOf: SourceOf;
    readonly rendered: ReadonlyMap<LayeredDocument, unknown>;
    readonly warn: (reason: RenderError) => void;
  },
): unknown {
  if (parent && !rendered.has(parent)) throw notRendered(parent);
  const inherited = parent ? applyActions(rendered.get(parent), document.data, actions) : document.data;
  const data = substitutions.reduce<unknown>((all, substitution, index) => {
    const at = `metadata.substitutions[${index}]`;
    const { src, dest } = substitution;
    const source = sourceOf(substitution);
    if (!source) {
      throw new RenderError('SubstitutionSourceNotFound', `there is no ${src.schema} ${src.name}`, `${at}.src`);
    }
    if (!rendered.has(source)) throw notRendered(source);
    const value = valueAt(rendered.get(source), parseJsonPath(src.path));
    if (value === undefined) {
      const message = `${src.schema} ${src.name} has no ${src.path}`;
      throw new RenderError('SubstitutionSourceDataNotFound', message, `${at}.src.path`);
    }
    const part = extractPart(value, src, (message) =>
      warn(new RenderError('PatternNotFound', message, `${at}.src.pattern`)),
    );
    return dest.reduce((before, each) => substitute(before, part, each), all);
  }, inherited);
  measureValue(data);
  return data;
}

function notRendered({ document }: LayeredDocument): RenderError {
  return new RenderError('SourceNotRendered', `it needs ${document.schema} ${document.name}, which can't be rendered`);
}

function faultOf(document: SiteDocument, { name, message, path }: RenderError, level: 'Error' | 'Warning'): SiteFault {
  const fault: SiteFault = {
    level,
    name,
    message: level === 'Error' ? `can't be rendered: ${message}` : message,
    document: documentOf(document),
  };
  return path === undefined ? fault : { ...fault, path };
}
