import type { ComponentChildren } from "preact";

/** Name of the service, the way to the other page, and what the page adds. */
export function Header({
  current,
  children,
}: {
  readonly current: "playground" | "operations";
  readonly children?: ComponentChildren;
}) {
  const mark = (page: string) => (page === current ? ({ "aria-current": "page" } as const) : {});
  return (
    <header class="top">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <span class="brand">
        <svg viewBox="0 0 24 24" aria-hidden="true">
          <path d="M3 5h18v14H3zM7 5v14M17 5v14M3 9.7h4M3 14.3h4M17 9.7h4M17 14.3h4" />
        </svg>
        Framemill
      </span>
      <nav aria-label="Pages">
        <a href="/playground" {...mark("playground")}>
          Playground
        </a>
        <a href="/operations" {...mark("operations")}>
          Operations
        </a>
      </nav>
      {children}
    </header>
  );
}
