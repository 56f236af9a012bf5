import "@/ui/tokens.css";
import "@/ui/base.css";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { createQueryClient } from "@/api/queryClient";
import { provideOwner } from "@/api/session";
import { ErrorBoundary } from "./ErrorBoundary";
import { createConsoleRouter } from "./router";

const client = createQueryClient();
provideOwner(client);
const router = createConsoleRouter();
const element = document.getElementById("root");

if (element && !document.documentElement.classList.contains("old-browser")) {
  createRoot(element).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <ErrorBoundary>
          <RouterProvider router={router} />
        </ErrorBoundary>
      </QueryClientProvider>
    </StrictMode>,
  );
}
