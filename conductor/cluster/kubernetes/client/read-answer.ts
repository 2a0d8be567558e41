import { z } from 'zod';
import type { Reply } from '#conductor/cluster/kubernetes/client/cluster.ts';
import { AppError } from '#shared/errors/app-error.ts';

interface Page<Item> {
  readonly items: readonly Item[];
  /** Asks for what follows; absent = it is the last. */
  readonly next: string | undefined;
  readonly resourceVersion: string | undefined;
}

/**
 * One page of a list. `items: null` is an empty list (Kubernetes 1.5 and aggregated servers write it so); without `items`
 * it is none. @throws AppError `unavailable`
 */
export function readPage<Item>(reply: Reply, item: z.ZodType<Item>, what: string): Page<Item> {
  const metadata = z.looseObject({
    continue: z.string().nullish(),
    resourceVersion: z.string().nullish(),
  });
  const page = parseReply(z.looseObject({ metadata, items: z.array(item).nullable() }), reply, what);
  const { continue: token, resourceVersion } = page.metadata;
  return { items: page.items ?? [], next: token || undefined, resourceVersion: resourceVersion ?? undefined };
}

/** @throws AppError `unavailable`: something that is not an API server, or a sick one, has answered */
export function parseReply<Schema extends z.ZodType>(schema: Schema, { body }: Reply, what: string): z.output<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw notUnderstood(what, `${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`);
}

/** Returns the error for an answer that can't be one about `what`. */
export function notUnderstood(what: string, why: string): AppError {
  return new AppError('unavailable', `the Kubernetes API server's answer for ${what} can't be understood: ${why}`);
}
