import { z } from 'zod';
import type { SiteDocument } from '#conductor/sites/site.ts';

/** Why a document can't be rendered; `name` is that of Deckhand's exception. */
export class RenderError extends Error {
  override readonly name: string;
  /** Within the document: `metadata.substitutions[2].src`. */
  readonly path: string | undefined;

  constructor(name: string, message: string, path?: string) {
    super(message);
    this.name = name;
    this.path = path;
  }
}

const text = z.string({ error: 'must be text' });
const count = z.int({ error: 'must be a whole number' }).min(-1, 'must be -1 (all) or more');
const flag = z.boolean({ error: 'must be true or false' }).nullish();

const Action = z.strictObject({
  method: z.enum(['merge', 'replace', 'delete'], { error: 'must be merge, replace or delete' }),
  path: text,
});
export type LayeringAction = z.infer<typeof Action>;

const Destination = z.strictObject({
  path: text,
  pattern: text.optional(),
  recurse: z.strictObject({ depth: count.default(-1) }).optional(),
});
export type Destination = z.infer<typeof Destination>;

const Source = z.strictObject(
  {
    schema: text,
    name: text,
    path: text,
    pattern: text.optional(),
    match_group: z.int({ error: 'must be a whole number' }).min(0, 'must be 0 (the whole match) or more').optional(),
    /** Whether copies are substituted. The source is never changed by it: here all are copies. */
    deepcopy: z.boolean({ error: 'must be true or false' }).optional(),
  },
  { error: 'must be a mapping with schema, name, path, pattern, match_group, deepcopy' },
);
export type Source = z.infer<typeof Source>;

const Substitution = z.strictObject({
  src: Source,
  dest: z.union([Destination.transform((one) => [one]), z.array(Destination).min(1)], {
    error: 'must be a mapping with path, pattern, recurse, or a list of such',
  }),
});
export type Substitution = z.infer<typeof Substitution>;

const Metadata = z.object({
  labels: z.record(z.string(), z.unknown()).nullish(),
  replacement: flag,
  layeringDefinition: z
    .object({
      abstract: flag,
      layer: text.nullish(),
      parentSelector: z.record(z.string(), text).nullish(),
      actions: z.array(Action).nullish(),
    })
    .nullish(),
  substitutions: z.array(Substitution).nullish(),
});

/** Metadata of a document that Deckhand reads. */
export interface DeckhandMetadata {
  readonly abstract: boolean;
  readonly layer: string | undefined;
  readonly labels: Readonly<Record<string, unknown>>;
  /** `undefined` = it has no parent. */
  readonly parentSelector: Readonly<Record<string, string>> | undefined;
  readonly actions: readonly LayeringAction[];
  readonly replacement: boolean;
  readonly substitutions: readonly Substitution[];
}

/** @throws RenderError `InvalidDocumentFormat` with the first field that is wrong */
export function readDeckhandMetadata({ metadata }: SiteDocument): DeckhandMetadata {
  const { data, error } = Metadata.safeParse(metadata);
  if (!data) {
    const [issue] = error.issues;
    const path = ['metadata', ...(issue?.path ?? [])].join('.');
    throw new RenderError('InvalidDocumentFormat', `${path} ${issue?.message ?? 'is not understood'}`, path);
  }
  const { layeringDefinition: layering, labels, replacement, substitutions } = data;
  const selector = layering?.parentSelector ?? {};
  return {
    abstract: layering?.abstract === true,
    layer: layering?.layer ?? undefined,
    labels: labels ?? {},
    parentSelector: Object.keys(selector).length > 0 ? selector : undefined,
    actions: layering?.actions ?? [],
    replacement: replacement === true,
    substitutions: substitutions ?? [],
  };
}
