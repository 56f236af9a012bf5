import type { Route } from "./paths";
import type { components, paths } from "./schema";

/** A body by its name in the schema: `Schema<"KeyBody">`. */
export type Schema<Name extends keyof components["schemas"]> = components["schemas"][Name];

export type Network = Schema<"Network">;

type MethodOf<R extends Route> = R extends `${infer Method} ${string}` ? Lowercase<Method> : never;
type PathOf<R extends Route> = R extends `${string} ${infer Path}` ? Path : never;

/** The operation of a route, as the generated types have it. */
type Operation<R extends Route> = PathOf<R> extends keyof paths
  ? MethodOf<R> extends keyof paths[PathOf<R>]
    ? NonNullable<paths[PathOf<R>][MethodOf<R>]>
    : never
  : never;

type Parameters<R extends Route, Place extends "path" | "query"> =
  Operation<R> extends { parameters: infer All }
    ? Place extends keyof All
      ? NonNullable<All[Place]>
      : never
    : never;
type Body<R extends Route> = Operation<R> extends { requestBody: { content: infer Media } }
  ? Media[keyof Media]
  : Operation<R> extends { requestBody?: { content: infer Media } }
    ? Media[keyof Media] | undefined
    : never;
type Content<Response> = Response extends { content: infer Media } ? Media[keyof Media] : undefined;

/** The body of a successful response of a route; undefined where it has none. */
export type Answer<R extends Route> = Operation<R> extends { responses: infer Responses }
  ? { [Status in keyof Responses]: Content<Responses[Status]> }[keyof Responses]
  : never;

type Member<Name extends string, Value> = [Value] extends [never]
  ? { [N in Name]?: never }
  : undefined extends Value
    ? { [N in Name]?: Value }
    : { [N in Name]: Value };

/** The members of a request beside its route: path parameters, query and body. */
export type RequestOf<R extends Route> = Member<"path", Parameters<R, "path">> & {
  query?: Parameters<R, "query">;
} & Member<"body", Body<R>>;
